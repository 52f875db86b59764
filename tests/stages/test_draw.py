"""A folder is replaced only by what was drawn."""

import pytest

from journeylab.config import UserError
from journeylab.records.plans import Plan
from journeylab.reports.draw import DRAWN
from journeylab.stages import draw

from .calls import call


def test_a_folder_with_files_of_its_user_is_refused_and_kept(tmp_path):
    for name in (*DRAWN, "thesis.tex"):
        (tmp_path / name).touch()
    drawing = call(Plan(stage="draw", study="exp5"), tmp_path / "m.json")
    with pytest.raises(UserError, match=r"holds thesis.tex, and draw replaces the whole folder"):
        draw.run(drawing)
    assert (tmp_path / "thesis.tex").exists()
    (tmp_path / "thesis.tex").unlink()
    with pytest.raises(UserError, match="--measurements: write one path"):
        draw.run(drawing)
