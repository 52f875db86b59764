"""Numbers of reports are derived from the measurements that their keys name."""

import pytest
import rejudge

from journeylab.deposit.derived import derivations

TABLE = rejudge.Cells(
    "study,arm,variant,seed,metric,N,value\n"
    "exp1,a,x,0,loss,8,0.5\nexp1,a,x,1,loss,8,0.25\nexp1,a,y,0,loss,8,0.125\n"
    "exp1,a,y,0,loss,16,-2\nexp1,b,x,0,loss_area,8,1.5e-07\nexp1,b,x,1,loss_area,8,\n"
    "exp1,b,x,1,overflow,8,inf\n"
)


@pytest.mark.parametrize(
    ("key", "stated", "where", "reduction"),
    [
        ("exp1.loss.max", 0.5, {}, "max"),
        ("exp1.loss.a.y.min", -2.0, {"arm": ["a"], "variant": ["y"]}, "min"),
        ("exp1.loss.a.x", "0.38", {"arm": ["a"], "variant": ["x"]}, "median"),
        ("exp1.loss.y.8", 0.125, {"variant": ["y"], "N": ["8"]}, "median"),
        ("exp1.loss_area.b", "1.5\u202f×\u202f10⁻⁷", {"arm": ["b"]}, "median"),
        ("exp1.overflow.max", "∞", {}, "max"),
        ("exp1.loss.8.16.a.above-0.2", 2, {"N": ["16", "8"], "arm": ["a"]}, "above-0.2"),
        ("exp1.loss_area.count", 1, {}, "count"),
    ],
)
def test_a_key_names_metric_and_levels(key, stated, where, reduction):
    [how] = derivations(TABLE, {key: stated}).values()
    assert (how["where"], how["reduce"]) == (where, reduction)


@pytest.mark.parametrize(
    ("key", "stated"),
    [("exp1.loss.max", 0.51), ("exp1.runs", 5), ("exp1.loss.z", "n/a"), ("exp1.loss.a.x", "0.39")],
)
def test_what_does_not_follow_is_not_derived(key, stated):
    assert derivations(TABLE, {key: stated}) == {}
