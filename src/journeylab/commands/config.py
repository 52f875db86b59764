"""``journeylab config``: every setting of a run, with its line in config.yaml."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from journeylab import catalogue
from journeylab.commands.results import CONFIG, printed_table
from journeylab.config import check_known, leaves, shown
from journeylab.config.grids import at_scale, by_name, span
from journeylab.config.reading import PlainLoader


class _Loader(PlainLoader):
    """Numbers and texts know their lines."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        value = super().construct_object(node, deep)
        marked = _MARKED.get(type(value))
        if marked is None or not isinstance(node, yaml.ScalarNode):
            return value
        own = marked(value)
        own.line = node.start_mark.line + 1
        return own


_MARKED: Mapping[type, Any] = {
    kind: type(f"_{kind.__name__}", (kind,), {"line": 0}) for kind in (int, float, str)
}


def show_config(
    run: Annotated[str, typer.Argument(help="STUDY/ARM/VARIANT, e.g. exp13/A5/mamba3.")],
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    scale: Annotated[str | None, typer.Option(help="Scale; by default that of the file.")] = None,
) -> None:
    """Show every setting of a run, and the line of config.yaml that it comes from."""
    first, *others = [
        (name, shown(value), f"{config}:{line}" if line else "default")
        for name, value, line in settings_of(run, config, scale)
    ]
    typer.echo(printed_table(first, others))


def settings_of(
    run: str, file: Path, scale: str | None = None
) -> Iterator[tuple[str, object, int | None]]:
    """The names, values and lines of a run's settings; line None for a default.

    Raises UserError for a file that cannot be read, and for a run that it does not have.
    """
    config = catalogue.load(file, {} if scale is None else {"scale": scale})
    study, arm, variant = (*run.split("/"), "", "")[:3]
    check_known(study, config.studies, f"{run}: {file} has no study {study!r}")
    settings = config.studies[study]
    runs = {f"{own.arm}/{own.variant}": own for own in catalogue.runs_of(study, settings)}
    check_known(f"{arm}/{variant}", runs, f"{run}: no such run, or it is off")
    found = runs[f"{arm}/{variant}"]
    written = yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader)["studies"][study]
    overrides = (written.get("scales") or {}).get(config.scale, {})
    section = at_scale(written, overrides)
    own = span(section["arms"])[arm]
    variants = by_name(own.get("variants")) or {}
    data = section.get("datasets", {}).get(settings.dataset_of(arm))
    owners = {"data": [own.get("data"), data], "evaluation": [section.get("evaluation")]}
    for name in ("model", "training"):
        # a number that a limit made has no line; the last level has that of the limit, at_most 60
        levels = (variants.get(variant, {}), own, section, overrides)
        owners[name] = [level.get(name) for level in levels]
    resolved: dict[str, Any] = dict(found.settings)
    del resolved["variant"]
    if not found.computed and settings.evaluated:
        resolved["evaluation"] = settings.evaluated
    for path, value in leaves(resolved):
        yield ".".join(path), value, _line(path, owners.get(path[0]), own)


def _line(path: Sequence[str], owners: Sequence[Any] | None, arm: Any) -> int | None:
    """The line of the first owner that writes the setting."""
    for owner in owners or ():
        if (line := _line_below(owner, path[1:])) is not None:
            return line
    return None if owners else _line_below(arm, path)


def _line_below(node: Any, path: Sequence[str]) -> int | None:
    for key in path:
        if not isinstance(node, Mapping) or key not in node:
            return None
        node = node[key]
    while isinstance(node, list) and node:
        node = node[0]
    return getattr(node, "line", None)
