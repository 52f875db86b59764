"""YAML files as plain values: mappings, lists, text, numbers, dates, truth values and null."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from journeylab.config.errors import LONGEST_ECHO, LONGEST_PLACE, UserError, cut, placed, shown

DEEPEST, LARGEST, LONGEST_TEXT = 40, 20_000, 300_000
"""Limits of a YAML file: depth of nesting, number of values, characters."""
WIDEST = 1_000
"""Largest number of keys of a mapping."""
NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_KEY = r"[A-Za-z0-9][A-Za-z0-9_.@-]*"
"""Keys of mappings: names, also of metrics such as hits@1; :data:`NAME` is safe in paths."""
LONGEST_NAME = 64
_LARGEST_INTEGER = 2**63 - 1
_TAGS = ("null", "bool", "int", "float", "str", "timestamp", "seq", "map")
_UNREADABLE = (ValueError, ArithmeticError, LookupError, AttributeError)
"""What Python raises for a malformed number, date or character."""


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping; raises UserError for a missing file, bad syntax or another type.

    The result satisfies :func:`check_plain`.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(LONGEST_TEXT + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:  # no UTF-8
        raise UserError(f"{path}: not a YAML text ({cut(str(error), LONGEST_PLACE)})") from None
    return parse_yaml(text, path)


def parse_yaml(text: str, path: Path | str = "") -> dict[str, Any]:
    """The YAML mapping in the text of the file at `path`; errors as of :func:`read_yaml`."""
    try:
        if len(text) > LONGEST_TEXT:
            raise UserError(f"{path}: holds more than {LONGEST_TEXT} characters")
        content = _load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        problem = cut(error.problem or error.context or "not a YAML text", LONGEST_PLACE)
        raise UserError(f"{path}: line {line}: {problem}") from None
    except RecursionError:
        raise UserError(f"{path}: nested more than {DEEPEST} deep") from None
    except (yaml.YAMLError, *_UNREADABLE) as error:
        problem = cut(" ".join(str(error).split()), LONGEST_PLACE)
        raise UserError(f"{path}: not a YAML text ({problem})") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: write a mapping (key: value), not {type(content).__name__}")
    check_plain(content, str(path))
    return content


def check_plain(content: object, file: str) -> None:
    """Refuse values that no setting can have, so that later code may recurse, copy and print.

    Allowed are mappings with names or integers as keys, lists, text, numbers, dates, truth values
    and null, within the limits above. An alias counts as often as it is used.
    """
    waiting: list[tuple[tuple[object, ...], object]] = [((), content)]
    count = 0
    while waiting:
        at, value = waiting.pop()
        where = placed(file, at)
        count += 1
        if count > LARGEST:
            raise UserError(f"{file}: holds more than {LARGEST} values, aliases written out")
        if len(at) > DEEPEST:
            raise UserError(f"{where} nested more than {DEEPEST} deep")
        if isinstance(value, Mapping):
            for key in value:
                if not _is_key(key):
                    raise UserError(f"{where} key {shown(key)}: write a name of [A-Za-z0-9_.@-]")
            waiting += [((*at, key), inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [((*at, index), inner) for index, inner in enumerate(value)]
        elif problem := _not_plain(value):
            raise UserError(f"{where} {shown(value)}: {problem}")


def _is_key(key: object) -> bool:
    if isinstance(key, str):
        return len(key) <= LONGEST_NAME and re.fullmatch(_KEY, key) is not None
    return type(key) is int and abs(key) <= _LARGEST_INTEGER


def _not_plain(value: object) -> str:
    if isinstance(value, str):
        if len(value) > LONGEST_NAME * 100:
            return "write less text"
        surrogates = any("\ud800" <= sign <= "\udfff" for sign in value)
        return "write text that UTF-8 can hold" if surrogates else ""
    if isinstance(value, int):
        return "" if abs(value) <= _LARGEST_INTEGER else "write a number below 2^63"
    if value is None or isinstance(value, float | date):
        return ""
    return f"write text (in quotes), a number, true or false, not a {type(value).__name__}"


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values in nested mappings, with the keys that lead to them; of an empty one, itself."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, str(key)))
    else:
        yield path, value


def canonical(content: Any) -> str:
    """Canonical JSON text of a value: sorted keys, no spaces."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _load(text: str) -> Any:
    """The value of a YAML text, by libyaml where it is installed: it reads five times as fast.

    Its messages differ from those of PyYAML, which therefore reads again what libyaml refuses.
    """
    if yaml.__with_libyaml__:
        with suppress(yaml.YAMLError, RecursionError, *_UNREADABLE):
            return yaml.load(text, Loader=_FastLoader)
    return yaml.load(text, Loader=_PlainLoader)


class _PlainLoader(yaml.SafeLoader):
    """YAML of plain values. A duplicate key is an error (YAML loaders keep the last value)."""

    yaml_constructors = {  # noqa: RUF012
        tag: constructor
        for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
        if str(tag).rpartition(":")[2] in _TAGS
    }

    def compose_mapping_node(self, anchor: dict[Any, yaml.Node]) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE or not isinstance(key_node, yaml.ScalarNode):
                continue  # a list or a mapping as a key is refused when it is constructed
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {shown(key)} is written twice", key_node.start_mark
                )
            seen.add(key)
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        if len(node.value) > WIDEST:
            problem = f"a mapping of more than {WIDEST} keys"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except _UNREADABLE:
            kind = node.tag.rpartition(":")[2]
            problem = f"{shown(node.value)} cannot be read as {cut(kind, LONGEST_ECHO)}"
            raise yaml.constructor.ConstructorError(
                None, None, f"{problem}; write text in quotes", node.start_mark
            ) from None

    def refuse(self, node: yaml.Node) -> None:
        """Refuse any other tag, explicit or resolved by YAML from the text."""
        value = f"{shown(node.value)} has " if isinstance(node, yaml.ScalarNode) else ""
        kind = cut(node.tag.removeprefix("tag:yaml.org,2002:"), LONGEST_ECHO)
        problem = f"{value}the tag {kind}; write text in quotes, or a number"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_MERGE = "tag:yaml.org,2002:merge"
_PlainLoader.add_constructor(None, _PlainLoader.refuse)
# YAML 1.2, which DVC writes, has 1e-05; for YAML 1.1 that is text, since it has no dot or no sign
_PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+\Z", re.ASCII),
    list("-+.0123456789"),
)

PlainLoader = _PlainLoader
"""For readers that also want lines."""

if yaml.__with_libyaml__:
    from yaml._yaml import CParser

    class _FastLoader(CParser, _PlainLoader):
        """The same on the events of libyaml: nodes are composed and checked as above."""

        get_single_node = yaml.SafeLoader.get_single_node

        def __init__(self, stream: str) -> None:
            CParser.__init__(self, stream)
            yaml.composer.Composer.__init__(self)
            yaml.constructor.SafeConstructor.__init__(self)
            yaml.resolver.Resolver.__init__(self)
