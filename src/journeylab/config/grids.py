"""Short forms of config.yaml, expanded: grids of arms, lists of variants, overrides, limits."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from journeylab.config.fields import distinct
from journeylab.config.reading import WIDEST

_LIMIT = re.compile(r"at_most (\d+(?:\.\d+)?)")


def span(arms: Any) -> Any:
    """Replace each arm with a ``grid`` by one arm for every combination of levels.

    ``S: {grid: {k: [1, 3], m: {one: {training: {steps: 9}}}}}`` is ``S-1-one`` and ``S-3-one``. A
    level is a value for the key that its factor names, or a mapping of overrides. Settings written
    under the name of such an arm override its grid, so that a scale can change a single arm.
    Raises ValueError with the arm's name.
    """
    if not isinstance(arms, Mapping):
        return arms
    grids = {name for name, arm in arms.items() if isinstance(arm, Mapping) and arm.get("grid")}
    expanded: dict[Any, Any] = {}
    spanned: set[str] = set()
    for name, arm in arms.items():
        if name not in grids:
            expanded.setdefault(name, arm)
            continue
        for own, chosen in _span(name, arm):
            if own in spanned or own in grids:
                raise ValueError(f"{name}.grid: there is another {own}; rename a level")
            spanned.add(own)
            expanded[own] = merge(chosen, arms[own]) if own in arms else chosen
    return expanded


def _span(name: str, arm: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if not isinstance(arm["grid"], Mapping):
        raise ValueError(f"{name}.grid: write a mapping from keys to their levels")  # noqa: TRY004
    grid = [_levels(f"{name}.grid", factor, levels) for factor, levels in arm["grid"].items()]
    if math.prod(map(len, grid)) > WIDEST:
        raise ValueError(f"{name}.grid: spans more than {WIDEST} arms")
    base = {key: value for key, value in arm.items() if key != "grid"}
    for levels in itertools.product(*(factor.items() for factor in grid)):
        chosen: Any = base
        for _, overrides in levels:
            chosen = merge(chosen, overrides)
        yield "-".join((str(name), *(level for level, _ in levels))), chosen


def _levels(where: str, factor: Any, levels: Any) -> dict[str, Mapping[Any, Any]]:
    """The overrides of each level of a factor, by the name of the level."""
    if isinstance(levels, list | tuple):
        named: set[str] = set()
        for level in sorted(levels, key=lambda level: isinstance(level, str)):  # 1 before "1"
            if isinstance(level, bool) or not isinstance(level, str | int | float):
                raise ValueError(f"{where}.{factor}: {level!r}: write numbers or names")  # noqa: TRY004
            if str(level) in named:
                raise ValueError(f"{where}.{factor}: {level!r} is written twice")
            named.add(str(level))
        levels = {str(level): level for level in levels}
    if not isinstance(levels, Mapping) or not levels:
        raise ValueError(f"{where}.{factor}: write at least one level, as in [1, 2]")
    return {
        str(level): chosen if isinstance(chosen, Mapping) else {factor: chosen}
        for level, chosen in levels.items()
    }


def by_name(variants: Any) -> Any:
    """``[A, B: {model: …}]`` as ``{A: {}, B: {model: …}}``; anything else as it is.

    Raises ValueError for repeats.
    """
    if not isinstance(variants, list | tuple):
        return variants
    named: dict[str, Any] = {}
    for variant in variants:
        own = {variant: {}} if isinstance(variant, str) else variant
        if not isinstance(own, Mapping) or len(own) != 1:
            return variants
        distinct((*named, *own))
        named |= own
    return named


def merge(base: Any, override: Any) -> Any:
    """``base`` updated by ``override``, recursively by key; lists of names count as mappings.

    ``at_most 60`` is 60, or the base if that is smaller.
    """
    if (most := _limit(override)) is not None:
        return min(base, most) if isinstance(base, int | float) else most
    base = by_name(base) if isinstance(override, Mapping) else base
    if not isinstance(base, Mapping) or not isinstance(override, Mapping):
        return override
    changed = {key: merge(base.get(key), value) for key, value in override.items()}
    return {**base, **changed}


def at_scale(section: Any, override: Any) -> Any:
    """The section of a study at a scale.

    A limit, as ``training: {steps: at_most 60}``, holds for the steps of the study and for those
    that its arms and variants write.
    """
    sections = override.items() if isinstance(override, Mapping) else ()
    limits = {
        name: found
        for name, keys in sections
        if isinstance(keys, Mapping)
        if (found := {key: most for key, most in keys.items() if _limit(most) is not None})
    }
    return merge(_limited(section, limits), override)


def _limit(value: Any) -> float | None:
    found = _LIMIT.fullmatch(value) if isinstance(value, str) else None
    return found and (float(found[1]) if "." in found[1] else int(found[1]))


def _limited(node: Any, limits: Mapping[Any, Mapping[Any, str]], *, named: bool = False) -> Any:
    """A section with the limits in all overrides; ``named``: its keys name arms or variants."""
    if isinstance(node, list):
        return [_limited(item, limits, named=named) for item in node]
    if not isinstance(node, Mapping):
        return node
    limited = {}
    for key, value in node.items():
        if key in limits and not named and isinstance(value, Mapping):
            present = {name: most for name, most in limits[key].items() if name in value}
            limited[key] = merge(value, present)
        else:
            limited[key] = _limited(value, limits, named=key in ("arms", "variants"))
    return limited
