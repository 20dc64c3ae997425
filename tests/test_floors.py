"""Imports go down the floors, never up, sideways or in circles, and torch stays in its rooms: read off the syntax."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gradscope"

FLOORS = (
    ("errors", "model", "signals"),
    ("torch_internals",),
    ("store", "graphs", "engine", "probes", "functions", "compilers"),
    ("explain", "measures", "execution", "bounds"),
    ("view",),
    ("anomaly", "render", "capture", "debugger"),
    ("library", "rehearsal"),
    ("commands",),
    ("cli", "autostart", "pytest_plugin"),
    ("__main__",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

TORCH_ROOMS = {
    "bounds",
    "torch_internals",
    "rehearsal",
    "probes",
    "functions",
    "compilers",
    "execution",
    "capture",
    "debugger",
    "autostart",
}

# commands that run a program load torch, but only then
RUNNING_PROGRAMS = {PACKAGE / "commands" / "trace.py", PACKAGE / "commands" / "debug.py"}

# `import gradscope` is for users. It loads its two verbs on first use, so it stands outside the floors; from the
# inside only its version may be read.
ROOT_NAMES = {"__version__"}


def room_of(path):
    """The first name below the package: gradscope/store/reader.py is in room `store`, gradscope/cli.py in `cli`."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(tree, package):
    """Dotted names of all that a module imports, anywhere in it: at its top, in functions, under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = [*above, *(node.module or "").split(".")] if node.module else above
            yield from (".".join([*start, alias.name]) for alias in node.names)


def rooms_entered(path, tree):
    """The rooms of gradscope that a module imports from."""
    package = ["gradscope", *path.relative_to(PACKAGE).parent.parts]
    for dotted in imports(tree, package):
        first, *rest = dotted.split(".")
        if first == "gradscope" and rest[:1] and rest[0] not in ROOT_NAMES:
            yield rest[0]


def faults(path, source):
    """What is wrong with the imports of one module, in words."""
    room, tree = room_of(path), ast.parse(source)
    if room not in FLOOR:
        return [f"room {room} is on no floor: add it to FLOORS"]
    found = []
    for other in rooms_entered(path, tree):
        if other not in FLOOR:
            found.append(f"{room} imports {other}, which is on no floor")
        elif other != room and FLOOR[other] >= FLOOR[room]:
            found.append(f"{room} imports {other}, which is not below it")
    return found


def torch_at_the_top(tree):
    """Whether importing the module imports torch: functions and TYPE_CHECKING blocks do not run then."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        if any(dotted.split(".")[0] == "torch" for dotted in direct_imports(node)):
            return True
        waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.ExceptHandler))
    return False


def direct_imports(node):
    return imports(ast.Module([node], []), []) if isinstance(node, ast.Import | ast.ImportFrom) else ()


def imports_torch(tree):
    return any(dotted.split(".")[0] == "torch" for dotted in imports(tree, []))


MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def test_imports_go_down():
    assert MODULES
    found = {str(path.relative_to(PACKAGE)): faults(path, path.read_text(encoding="utf-8")) for path in MODULES}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_torch_stays_in_its_rooms():
    outside = [path for path in MODULES if room_of(path) not in TORCH_ROOMS]
    found = []
    for path in outside:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        # `gradscope trace --help` must not load torch
        if torch_at_the_top(tree) if path in RUNNING_PROGRAMS else imports_torch(tree):
            found.append(str(path.relative_to(PACKAGE)))
    assert found == []


def test_every_room_is_there_and_in_the_map():
    rooms = {room_of(path) for path in MODULES}
    assert rooms == FLOOR.keys()
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [\w' ]+ \| (`.*)$", text, re.MULTILINE)
    named = [set(re.findall(r"`(\w+)`", row.replace("`doctor`", ""))) for row in rows]
    assert named == [set(floor) for floor in reversed(FLOORS[:-1])]


def test_the_package_itself_loads_nothing():
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {node.module for node in top if isinstance(node, ast.ImportFrom)} == {"__future__", "typing"}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("store/reader.py", "from gradscope.render import table"),
        ("store/reader.py", "from gradscope import graphs"),
        ("store/reader.py", "from ..graphs import fold"),
        ("store/reader.py", "def load():\n    import gradscope.view.drawing"),
        ("model/graph.py", "if TYPE_CHECKING:\n    from gradscope.store.reader import load"),
        ("render/text.py", "from gradscope import record"),
        ("attic/box.py", "import json"),
    ],
)
def test_a_wrong_import_is_found(module, source):
    assert len(faults(PACKAGE / module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("store/reader.py", "from gradscope.model.graph import Graph"),
        ("store/reader.py", "from gradscope.store import schema\nfrom . import schema\nfrom .schema import TABLES"),
        ("cli.py", "from gradscope import __version__"),
        ("__main__.py", "from gradscope.cli import main"),
    ],
)
def test_a_right_import_is_left_alone(module, source):
    assert faults(PACKAGE / module, source) == []
