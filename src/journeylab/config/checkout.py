"""Whether the code in the working directory is the code that runs."""

from pathlib import Path

from journeylab.config.errors import UserError

_IMPORTED = Path(__file__).parents[1]


def check_checkout() -> None:
    """Raise UserError in a checkout of journeylab, if another one was imported.

    This happens in a worktree, a copy or a queued experiment of DVC that uses the environment of
    the first checkout: results would be those of its code, under the name of this one.
    """
    beside = Path("src/journeylab").absolute()
    if (beside / "__init__.py").is_file() and not beside.samefile(_IMPORTED):
        raise UserError(
            f"{beside} is here, but {_IMPORTED} was imported; type `make setup` and use the .venv "
            "of this folder, or put PYTHONPATH=src before the command"
        )
