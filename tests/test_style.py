"""Sizes and manners of every source file: files and functions stay small, modules say what they are for."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "gradscope").rglob("*.py"))
SOURCES = MODULES + sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "sample_scripts").rglob("*.py"))
TEXTS = [
    path
    for pattern in ("*.md", "*.toml", "*.txt", "*.pth", "Makefile", ".ci/*", "docs/**/*", "tests/*.sh")
    for path in sorted(ROOT.glob(pattern))
    if path.is_file() and path.suffix not in (".png", ".pyc")
]
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60
MACHINE_PATHS = ("/work" + "/", "/root" + "/", "/home" + "/")


def name(path):
    return str(path.relative_to(ROOT))


@cache
def text_of(path):
    return path.read_text(encoding="utf-8")


@cache
def syntax_of(path):
    return ast.parse(text_of(path))


def functions(path):
    """Every function of a file with its number of lines."""
    for node in ast.walk(syntax_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.end_lineno - node.lineno + 1


def test_no_file_is_longer_than_a_room_should_be():
    lengths = {name(path): len(text_of(path).splitlines()) for path in SOURCES}
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES_OF_A_FILE} == {}


def test_no_function_hides_a_noun():
    lengths = [(name(path), *function) for path in SOURCES for function in functions(path)]
    assert [each for each in lengths if each[-1] > MOST_LINES_OF_A_FUNCTION] == []


def test_every_module_says_what_it_is_for():
    assert [name(path) for path in MODULES if not ast.get_docstring(syntax_of(path))] == []


def test_no_file_names_a_machine():
    named = [(name(path), machine) for path in SOURCES + TEXTS for machine in MACHINE_PATHS if machine in text_of(path)]
    assert named == []


def test_the_rules_look_at_every_room():
    rooms = {name(path).split("/")[0] for path in SOURCES}
    assert rooms == {"gradscope", "tests", "sample_scripts"}
    assert len(TEXTS) > 20
