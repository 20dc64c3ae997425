"""Sizes and manners of every source file: files and functions stay small, modules say what they are for."""

import ast
from pathlib import Path

import pytest

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


def functions(path):
    """Every function of a file with its number of lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.end_lineno - node.lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_file_is_longer_than_a_room_should_be(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES_OF_A_FILE


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_function_hides_a_noun(path):
    assert [each for each in functions(path) if each[1] > MOST_LINES_OF_A_FUNCTION] == []


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", SOURCES + TEXTS, ids=name)
def test_no_file_names_a_machine(path):
    text = path.read_text(encoding="utf-8")
    assert [machine for machine in MACHINE_PATHS if machine in text] == []
