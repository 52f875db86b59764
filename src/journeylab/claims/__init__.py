"""From measurements and pre-registered claims to verdicts.

:func:`~journeylab.claims.judging.judge` decides the claims of a ``Register`` by tidy measurements;
the pipeline calls it. ``judge_table`` does so for a claims file and any table, which it checks::

    of = read_claims(Path("claims.yaml"))
    verdicts = judge_table(of, read_measurements("results.csv", of), "results.csv")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from journeylab.claims.claims_file import read_claims as read_claims
    from journeylab.claims.judging import judge as judge
    from journeylab.claims.schema import Register as Register
    from journeylab.claims.table_judge import further_seeds as further_seeds
    from journeylab.claims.table_judge import judge_table as judge_table
    from journeylab.claims.tables import read_measurements as read_measurements

_PUBLIC = {
    "Register": "schema",
    "further_seeds": "table_judge",
    "judge": "judging",
    "judge_table": "table_judge",
    "read_claims": "claims_file",
    "read_measurements": "tables",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is asked for: most modules of the package need no pandas."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
