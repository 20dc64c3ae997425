"""Whole packages: what is found, what cannot be imported, and what costs no more than itself."""

import json
import sys

import pytest
from click.testing import CliRunner

from gradscope.commands.check_function import command
from gradscope.functions.packages import modules_with_functions
from gradscope.functions.workers import IMPORTING

RIGHT = """
import torch

class {name}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad
"""
BASE = """
import torch

class _Base(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x):
        ctx.save_for_backward(x)
        return cls.compute(x)

    @classmethod
    def backward(cls, ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad

class Derived(_Base):
    @classmethod
    def compute(cls, x):
        return x * x
"""
CRASHES = "import os\nfrom torch.autograd import Function\nos._exit(7)\nclass Lost(Function):\n    pass\n"
RAISES = "from torch.autograd import Function\nimport nowhere_to_be_found\nclass Lost(Function):\n    pass\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "manyops"
    (folder / "inner").mkdir(parents=True)
    for path in ("__init__.py", "inner/__init__.py"):
        (folder / path).touch()
    files = {"first.py": RIGHT.format(name="First"), "inner/second.py": RIGHT.format(name="Second"), "bases.py": BASE}
    for path, text in files.items():
        (folder / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "manyops"]:
        del sys.modules[name]


def run(*arguments, name="manyops"):
    result = CliRunner().invoke(command, [name, "-q", "--fmt", "json", *arguments], standalone_mode=False)
    return json.loads(result.stdout), result.return_value


def test_modules_are_found_by_their_syntax(package):
    found = {module.name: module.classes for module in modules_with_functions("manyops")}
    assert found == {
        "manyops.first": ("First",),
        "manyops.inner.second": ("Second",),
        "manyops.bases": ("_Base", "Derived"),
    }


def test_all_functions_of_a_package_are_checked_but_unfinished_bases(package):
    content, status = run()
    assert [s["function"] for s in content["subjects"]] == [
        "manyops.bases.Derived",
        "manyops.first.First",
        "manyops.inner.second.Second",
    ]
    assert status == 0


def test_a_module_named_by_itself_leaves_out_the_same_bases(package):
    result = CliRunner().invoke(command, ["manyops.bases", "-q", "--fmt", "json"], standalone_mode=False)
    assert [s["function"] for s in json.loads(result.stdout)["subjects"]] == ["manyops.bases.Derived"]
    assert result.return_value == 0


@pytest.mark.parametrize(
    ("text", "reason"), [(RAISES, "ModuleNotFoundError"), (CRASHES, "importing it ended the process with status 7")]
)
def test_a_module_that_cannot_be_imported_is_told_and_costs_no_other(package, text, reason):
    (package / "broken.py").write_text(text)
    content, status = run("--jobs", "1")
    (one,) = content["unimported"]
    assert one["module"] == "manyops.broken"
    assert one["reason"].startswith(reason)
    assert len(content["subjects"]) == 3
    assert status == 4


@pytest.mark.parametrize("line", ["return x * x", "return 2 * x * grad"], ids=["forward", "backward"])
def test_a_function_that_never_ends_is_told(package, line):
    loop = RIGHT.format(name="Endless").replace(line, "while True:\n            pass")
    assert "while" in loop
    (package / "endless.py").write_text(loop)
    content, _ = run("--limit", "2")
    subject = next(s for s in content["subjects"] if s["function"] == "manyops.endless.Endless")
    assert subject["verdict"] == "not-checked"
    assert IMPORTING > 2


def test_a_function_with_two_names_is_checked_once(package):
    (package / "first.py").write_text(RIGHT.format(name="First") + "\n\nSecond = First\n")
    content, _ = run("--jobs", "1")
    assert [s["function"] for s in content["subjects"]].count("manyops.first.First") == 1


RELATIVE = "from . import neighbour\n" + RIGHT.format(name="Relative")


def test_a_folder_is_all_packages_and_files_under_it(package, tmp_path):
    moved = tmp_path / "src" / "otherops"
    moved.mkdir(parents=True)
    (moved / "__init__.py").touch()
    (moved / "neighbour.py").touch()
    (moved / "ops.py").write_text(RELATIVE)
    (tmp_path / "lonely.py").write_text(RIGHT.format(name="Lonely"))
    for left_out in (".hidden", "build"):
        (tmp_path / left_out).mkdir()
        (tmp_path / left_out / "copy.py").write_text(RIGHT.format(name="Copy"))
    found = {(module.name, module.root) for module in modules_with_functions(".")}
    assert found == {
        ("lonely", str(tmp_path)),
        ("manyops.first", str(tmp_path)),
        ("manyops.inner.second", str(tmp_path)),
        ("manyops.bases", str(tmp_path)),
        ("otherops.ops", str(tmp_path / "src")),
    }
    content, status = run(name="src/")
    assert [s["function"] for s in content["subjects"]] == ["otherops.ops.Relative"]
    assert status == 0


def test_an_environment_in_a_folder_is_left_out(package, tmp_path):
    (tmp_path / "pyvenv.cfg").touch()
    assert modules_with_functions(".") == []


@pytest.mark.parametrize("ending", ["", ":Relative"])
def test_a_file_in_a_package_is_a_part_of_it(package, ending):
    (package / "relative.py").write_text(RELATIVE.replace("neighbour", "first"))
    content, status = run(name=f"manyops/relative.py{ending}")
    assert [s["function"] for s in content["subjects"]] == ["manyops.relative.Relative"]
    assert status == 0


def test_patterns_choose(package):
    content, _ = run("--pattern", "Sec*")
    assert [s["function"] for s in content["subjects"]] == ["manyops.inner.second.Second"]


def test_a_class_that_derives_over_two_modules_is_found(package):
    (package / "again.py").write_text(
        "from manyops.bases import Derived\n\nclass Grandchild(\n    Derived,\n):\n    pass\n"
    )
    found = {module.name: module.classes for module in modules_with_functions("manyops")}
    assert found["manyops.again"] == ("Grandchild",)


def test_modules_that_one_missing_package_stops_are_one_line(package):
    for name in ("one", "two", "three"):
        (package / f"{name}.py").write_text(RAISES)
    text = CliRunner().invoke(command, ["manyops", "-q"], standalone_mode=False).stdout
    reason = "ModuleNotFoundError: No module named 'nowhere_to_be_found'"
    assert f"  {reason}: 3 modules: manyops.one, manyops.three, manyops.two" in text
