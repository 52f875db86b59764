import io
import sys
import tokenize
from pathlib import Path

import pytest

import journeylab
from journeylab.config import UserError
from journeylab.records import fingerprint as module
from journeylab.records.fingerprint import (
    PLANNED,
    closure,
    hash_module,
    hash_modules,
    hash_source,
    strip,
)

MODULES = {
    "__init__": '"""A small laboratory."""',
    "config": "LIMIT = 1",
    "parts": "import lab.config",
    "catalogue": "import lab.config",
    "commands.__init__": "",
    "commands.app": "import lab.training.loop",
    "commands.status": "import lab.config",
    "imports": "import sys",
    "training.__init__": "",
    "training.loop": (
        "import lab.training.clip\nimport lab.config\nimport lab.catalogue\n\n\n"
        "def train(x):\n    return x\n"
    ),
    "training.clip": "def clip(x):\n    return min(x, 1)\n",
    "studies.__init__": "",
    "studies.exp1.__init__": "from lab.studies.exp1 import names",
    "studies.exp1.names": "NAME = 'exp1'",
    "studies.exp1.settings": "LABEL = 'first'",
    "studies.exp1.models": (
        "from typing import TYPE_CHECKING\n"
        "from lab.training import loop\n"
        "if TYPE_CHECKING:\n    from lab.studies.exp1 import settings\n"
    ),
    "studies.exp1.figures": "import lab.studies.exp1.models",
    "studies.exp2.__init__": "",
    "studies.exp2.models": "from lab.training import loop",
}


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A package `lab`; returns a function that edits a module and clears cached fingerprints."""
    monkeypatch.syspath_prepend(tmp_path)

    def edit(name, text):
        path = tmp_path / "lab" / (name.replace(".", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for cached in (module._graph, module.hash_module):
            cached.cache_clear()

    for name, text in MODULES.items():
        edit(name, text)
    yield edit
    edit("__init__", "")
    sys.modules.pop("lab", None)


def of(*roots):
    modules = closure(tuple(f"lab.{root}" for root in roots), "lab")
    return hash_modules(modules, hash_module)


def test_the_closure_is_transitive_and_includes_enclosing_packages(lab):
    assert closure(("lab.studies.exp1.models",), "lab") == [
        "lab",
        "lab.studies",
        "lab.studies.exp1",
        "lab.studies.exp1.models",
        "lab.studies.exp1.names",
        "lab.training",
        "lab.training.clip",
        "lab.training.loop",
    ]


def test_a_package_covers_all_modules_below_it_except_planned_ones(lab):
    everything = closure(("lab",), "lab")
    names = {name.removesuffix(".__init__") for name in MODULES} - {"__init__"}
    outside = {name for name in names if name.partition(".")[0] in PLANNED}
    assert set(PLANNED) < outside
    names -= outside
    assert set(everything) == {"lab"} | {f"lab.{name}" for name in names}


def test_reworded_comments_and_layout_keep_the_fingerprint(lab):
    before = of("studies.exp1.models")
    lab(
        "training.loop",
        '"""How training goes."""\n'
        "import lab.training.clip  # needed\nimport lab.config\nimport lab.catalogue\n\n"
        "# the loop\ndef train( x ):\n"
        '    """Train.\n\n    # not a comment, yet no code either\n    """\n\n'
        "    return x  # at once\n",
    )
    assert of("studies.exp1.models") == before


@pytest.mark.parametrize(
    ("name", "text", "inside"),
    [
        ("training.clip", "def clip(x):\n    return min(x, 2)\n", True),
        ("studies.exp1.names", "NAME = 'exp 1'", True),
        ("training.__init__", "import os", True),
        ("__init__", "VERSION = 1", True),
        ("studies.exp2.models", "import os", False),
        ("studies.exp1.figures", "import os", False),
        ("studies.exp1.settings", "LABEL = 'second'", False),
        ("config", "LIMIT = 2", False),
        ("commands.app", "import os", False),
        ("catalogue", "import lab.config\nimport os", False),
        ("imports", "import os", False),
        ("commands.status", "import os", False),
    ],
)
def test_changed_code_changes_the_fingerprint_if_it_is_in_the_closure(lab, name, text, inside):
    before = of("studies.exp1.models")
    lab(name, text)
    assert (of("studies.exp1.models") != before) == inside


def test_a_missing_root_is_named(lab):
    with pytest.raises(UserError, match=r"lab\.studies\.exp9"):
        of("studies.exp9.models")


def test_loaded_texts_and_files_have_the_same_fingerprint(lab):
    """A job hashes its loaded texts; planning hashes the files."""
    roots = ("lab.studies.exp1.models",)
    texts = {f"lab.{name}".removesuffix(".__init__"): text for name, text in MODULES.items()}
    loaded = hash_modules(closure(roots, "lab"), lambda name: hash_source(texts[name]))
    assert loaded == of("studies.exp1.models")
    assert hash_module("lab.training.clip") == hash_source(MODULES["training.clip"])
    assert hash_source("x = 1  # first") == hash_source("x=1") != hash_source("x = 2")


def test_computing_a_fingerprint_imports_no_library(imported):
    script = (
        "from journeylab.records.fingerprint import closure, hash_module, hash_modules\n"
        "hash_modules(closure(('journeylab.records',)), hash_module)"
    )
    assert not imported(script, "torch", "pandas", "pyarrow", "mlflow", "journeylab.tracking")


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("x = 1", "x=1  # first", True),
        ("f(a,\n  b)", "f(a, b)", True),
        ("x = 1 + \\\n  2", "x = 1 + 2", True),
        ("def f():\n    r'''Doc.'''\n    pass", "def f():\n\n    pass\n", True),
        ("class A:\n    x: int = 1\n    'about x'", "class A:\n    x: int = 1", True),
        ("x = 'a # b'", "x = 'a # c'", False),
        ("x = 'a  b'", "x = 'a b'", False),
        ("x = f'{y!r} # {z}'", "x = f'{y!r} # {w}'", False),
        ("f'{effect()}'", "f'{other()}'", False),
        ("@cache\ndef f(): pass", "def f(): pass", False),
        ("f(\n    'a'\n    'b'\n)", "f(\n    'a'\n)", False),
        ("x = '''\na\n'''", "x = '''\nb\n'''", False),
        ("x = 'it\\'s # a'", "x = 'it\\'s # b'", False),
        ("if a:\n    b()\nc()", "if a:\n    b()\n    c()", False),
        ("return x", "returnx", False),
        ("x = {'a':\n 'b'\n}", "x = {'a':\n 'c'\n}", False),
    ],
)
def test_layout_and_documentation_are_stripped_and_all_else_is_kept(first, second, equal):
    assert (strip(first) == strip(second)) == equal


def whole_strings(source):
    """Tokens in which an f-string is one string, which newer tokenizers split."""
    lines, opened = source.splitlines(keepends=True), []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind.endswith("STRING_START"):
            opened.append(token.start)
        elif kind.endswith("STRING_END"):
            (first, begin), (last, end) = opened.pop(), token.end
            if not opened:
                text = "".join(lines[first - 1 : last])
                text = text[begin : len(text) - len(lines[last - 1]) + end]
                yield token._replace(type=tokenize.STRING, string=text, start=(first, begin))
        elif not opened:
            yield token


def significant_tokens(source):
    """Tokens of Python's own tokenizer without comments and docstrings."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
    skipped |= {tokenize.INDENT, tokenize.DEDENT}
    statement, statements = [], []
    for token in whole_strings(source):
        if token.type == tokenize.NEWLINE:
            plain = all(
                part.type == tokenize.STRING and "f" not in part.string[:2].lower()
                for part in statement
            )
            if not plain:
                words = [part.string for part in statement if part.string]
                statements.append((statement[0].start[1], words))
            statement = []
        elif token.type not in skipped:
            statement.append(token)
    return statements


SOURCES = sorted(Path(journeylab.__path__[0]).rglob("*.py"))
SOURCES += [Path(tokenize.__file__), Path(io.__file__).with_name("typing.py")]
SOURCES += sorted(Path(io.__file__).parent.glob("email/*.py"))


def test_stripping_keeps_the_tokens_of_real_code():
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        assert significant_tokens(strip(source) + "\n") == significant_tokens(source), path


def test_the_hash_is_the_same_on_every_python():
    source = (
        'from a import b\n\n\n@b\ndef f(x: int) -> str:\n    """Doc."""\n    return f"{x:>3}"\n'
    )
    assert strip(source) == 'from a import b\n@b\ndef f(x:int)->str:\n    return f"{x:>3}"'
