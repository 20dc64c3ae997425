"""The statement that let a tensor out of its transform, found by the name under which it is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gradscope
from gradscope.measures.let_out import let_out
from gradscope.measures.levels import escapes
from gradscope.model.site import Site
from gradscope.model.transform import Escaped, Transform

HEAD = """
import torch
from torch.func import functionalize, grad, jvp, vmap
X = torch.ones(3)
kept, table = [], {"old": None}
last = None
class Model:
    cache = None
    def __init__(self):
        self.parts = {}
        self.cache = None
    def remember(self, value):
        self.cache = value  # remembered
model = Model()
"""
# How a tensor y gets out, and as what it is kept. `# here` marks the statement, unless another mark is named.
WAYS = {
    "a list": ("kept.append(y)  # here", "in the list kept"),
    "a list in a dict": ("table.setdefault('all', []).append(1); table['all'].append(y)  # here", None),
    "an item": ("table['item'] = y  # here", "item"),
    "an attribute": ("model.cache = y  # here", "cache"),
    "an attribute by name": ("setattr(model, 'odd', y)  # here", "odd"),
    "a part of an attribute": ("model.parts['part'] = y  # here", "part"),
    "a global": ("global last; last = y  # here", "last"),
    "several targets": ("model.cache, z = y, 1  # here", "cache"),
    "another function": ("model.remember(y)", "cache"),
    "a line of its own": ("z = y * 2\n    kept.append(z)  # here", "in the list kept"),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    """The table's rows of one program for each way, all recorded in one process."""
    folder = tmp_path_factory.mktemp("ways")
    for number, (statement, _) in enumerate(WAYS.values()):
        script = f"{HEAD}def f(x):\n    y = x.exp()  # made\n    {statement}\n    return y.sum()\ngrad(f)(X)\n"
        (folder / f"way{number}.py").write_text(script)
    script = f"{HEAD}def f(x):\n    kept.append(x.exp())  # here\n    return x.sum()\nvmap(f)(X)\n"
    (folder / "outer.py").write_text(script)
    code = """
import importlib, pathlib, gradscope
for path in sorted(pathlib.Path().glob("*.py")):
    with gradscope.record(path.stem + ".gscope"):
        importlib.import_module(path.stem)
"""
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, env={"PYTHONPATH": f"{folder}:{ROOT}"})
    rows = {}
    for path in folder.glob("*.gscope"):
        with gradscope.load(path) as opened:
            table = escapes(opened.escaped(), opened.transforms(), opened.source)
        rows[path.stem] = [tuple(_line(cell) for cell in row) for row in table.rows]
    return rows


ROOT = Path(__file__).parent.parent.parent


def _line(cell: object) -> object:
    """A place as the text of its line."""
    file, colon, number = str(cell).partition(":")
    return Path(file).read_text().splitlines()[int(number) - 1].strip() if colon and number.isdigit() else cell


@pytest.mark.parametrize("way", WAYS)
def test_each_way_out(way: str, told: dict[str, list[tuple[object, ...]]]) -> None:
    ((name, made, out, _),) = told[f"way{list(WAYS).index(way)}"]
    assert name == (WAYS[way][1] or name)
    assert str(made).startswith(("y = x.exp()", "z = y"))
    assert str(out).endswith("# here" if "here" in WAYS[way][0] else "# remembered")


def test_a_vmap_builds_no_node_but_its_function_is_known(told: dict[str, list[tuple[object, ...]]]) -> None:
    assert told["outer"] == [("in the list kept", None, "kept.append(x.exp())  # here", "vmap(f)(X)")]


def guess(source: str, holder: str | None = "kept", line: int = 3) -> str | None:
    made = (Site("a.py", line, "f"),)
    transform = Transform(1, "Grad", 1, (Site("a.py", 90),))
    return let_out(Escaped(1, "kept", made, holder), transform, {"a.py": source}.get)


def test_of_several_those_after_the_making_come_first() -> None:
    assert (
        guess("def f(x):\n  kept.append(x)\n  y = 1\n  kept.append(y)\n  kept.append(2)") == "a.py:4 (or line 5 or 2)"
    )


def test_an_empty_container_lets_nothing_out() -> None:
    assert guess("kept = []\nkept = ([], {})\ndef f(x):\n  kept.append(x)") == "a.py:4"


@pytest.mark.parametrize("source", ["", "def f(:", "def f(x):\n  y = x\n  return y", "\0"])
def test_where_the_source_does_not_show_it_nothing_is_guessed(source: str) -> None:
    assert guess(source) is None
    assert guess("kept.append(1)", None) is None


def test_the_table_says_that_only_the_making_line_is_known() -> None:
    escaped, transform = Escaped(1, "kept", (Site("a.py", 3),)), Transform(1, "Grad", 1)
    assert "only the making line is known" in escapes((escaped,), (transform,), lambda file: None).notes[0]
