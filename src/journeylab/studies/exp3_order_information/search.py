"""The search of learning rates and initial scales of exp3, on pilot seeds.

``python tools/search_exp3.py`` prints the rows of the table. They are kept here, because a study
trains with the chosen settings only.
"""

from collections.abc import Sequence
from io import StringIO

import pandas as pd

SEEDS = (1000, 1001)
TIE = 0.01
"""A difference of mean accuracy that is too small to leave the settings of the study.

At N = 8 the standard error of an accuracy is 0.015 (64 strings of 8 positions, two seeds). It
was set when the search was known: at 0.005, {0, 1} with two colours and d = 4 would have rate 0.1,
which is the edge of the grid. Rate 0.1 was added because 0.03 was best for four colours.
"""
POINTS = {
    "0.003": (0.003, 1.0),
    "0.01 × ½": (0.01, 0.5),
    "0.01": (0.01, 1.0),
    "0.01 × 2": (0.01, 2.0),
    "0.03": (0.03, 1.0),
    "0.1": (0.1, 1.0),
}
"""The grid: peak learning rate and initial scale, by printed name."""
CENTRE = "0.01"
RUN = ("C", "d", "frequencies")

_MEASURED = """\
C,d,N,frequencies,question,0.003,0.01 × ½,0.01,0.01 × 2,0.03,0.1,twice
2,4,8,as-shipped,position,0.6338,0.6201,0.6289,0.6143,0.6172,0.6504,0.6699
2,4,12,standard,position,0.7483,0.7447,0.7434,0.7436,0.7412,0.7473,0.7455
2,4,20,sum,count,0.9975,0.9975,0.9975,0.9975,0.9970,0.7400,0.9975
2,4,20,as-shipped,position,0.6572,0.6566,0.6568,0.6571,0.6561,0.6576,0.6570
2,4,20,as-shipped,count,0.9975,0.9975,0.9975,0.9975,0.9975,0.9970,0.9990
2,4,20,one-two,count,0.1787,0.1733,0.1775,0.1792,0.1805,0.1730,0.1833
2,16,12,sum,position,0.6098,0.6104,0.6104,0.6098,0.6100,0.4868,0.6102
2,16,12,as-shipped,position,0.8971,0.9822,0.9798,0.9800,0.9652,0.8083,0.9968
2,16,20,standard,position,0.7979,0.8376,0.8342,0.8311,0.8319,0.6991,0.8579
3,4,20,sum,count,0.9955,0.9970,0.9977,0.9978,0.9983,0.9935,0.9988
3,4,20,as-shipped,position,0.4962,0.4974,0.4983,0.4983,0.4976,0.4956,0.4989
3,4,20,as-shipped,count,0.9955,0.9978,0.9982,0.9977,0.9985,0.9962,0.9992
4,4,20,sum,count,0.9945,0.9966,0.9966,0.9968,0.9977,0.9956,0.9989
4,4,20,as-shipped,position,0.4011,0.4075,0.4066,0.4011,0.4072,0.4015,0.4083
4,4,20,as-shipped,count,0.4677,0.5308,0.5242,0.4694,0.5756,0.4784,0.6276
"""


def search_table() -> pd.DataFrame:
    """Every judged question of every judged run: accuracies as text, the chosen point, and `twice`.

    ``twice`` is the accuracy after twice the steps, at the best point of the length.
    """
    table = pd.read_csv(StringIO(_MEASURED), dtype=str)
    table.insert(len(table.columns) - 1, "chosen", choose_points(table))
    return table


def choose_points(
    table: pd.DataFrame, group: Sequence[str] = RUN, tie: float = TIE
) -> "pd.Series[str]":
    """The best point of the group of every row: the highest mean over its questions.

    The centre of the grid is chosen if it is within ``tie`` of the best.
    """
    grouped = table[list(POINTS)].astype(float).groupby([table[key] for key in group])
    means = grouped.transform("mean")
    best = means.idxmax(axis=1)
    return best.where(means.max(axis=1) - means[CENTRE] > tie, CENTRE)
