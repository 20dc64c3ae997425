"""Imports go down the floors, never up, sideways or in circles, and torch stays in its rooms: read off the syntax."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gradscope"

FLOORS = (
    ("errors", "model", "signals", "version"),
    ("torch_internals",),
    ("store", "channel", "graphs", "engine", "probes", "functions", "compilers"),
    ("explain", "measures", "ranks", "exports", "execution", "bounds", "launch"),
    ("view",),
    ("anomaly", "render", "capture", "debugger"),
    ("library", "rehearsal", "arming"),
    ("children",),
    ("commands",),
    ("cli", "autostart", "pytest_plugin"),
    ("__main__",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

# Inside of a room with rooms of its own: their floors, lowest first. What stands in the room itself is above them all,
# but for what is on a floor by name.
INSIDE = {
    "probes": (
        ("core",),
        ("tensors", "modules"),
        ("graph",),
        ("functions", "nonfinite", "hooks"),
        ("operators", "training"),
    ),
    "explain": (("evidence",), ("deductions",), ("findings",), ("answers",)),
    "explain.deductions": (("cause",), ("lines",), ("numbers",), ("steps",), ("gradients", "memory", "states")),
    "explain.findings": (
        ("kind",),
        ("cuts", "sizes"),
        (
            "edits",
            "graphs",
            "hooks",
            "layers",
            "objectives",
            "own_functions",
            "refusals",
            "states",
            "steps",
            "transforms",
        ),
    ),
    "ranks": (("core",), ("source", "comparing"), ("meeting",), ("gradients",), ("data", "replicas")),
}
MOST_FLOORS_INSIDE = 5

TORCH_ROOMS = {
    "bounds",
    "torch_internals",
    "rehearsal",
    "probes",
    "launch",
    "functions",
    "compilers",
    "execution",
    "capture",
    "debugger",
    "autostart",
    "arming",
    "children",
}

# commands that run a program load torch, but only then
RUNNING_PROGRAMS = {PACKAGE / "commands" / "trace.py", PACKAGE / "commands" / "debug.py"}

# `import gradscope` is for users. It loads its verbs on first use, so it stands outside the floors, and nobody inside
# imports it.


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
        if first == "gradscope" and rest[:1]:
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


def imports_inside(room):
    """The modules of a room, by dotted name, each with those of the same room that it imports, wherever it does."""
    paths = {dotted_name(path): path for path in PACKAGE.joinpath(*room.split(".")).rglob("*.py")}
    return {module: set(imported(module, path, set(paths))) for module, path in paths.items()}


def dotted_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(module, path, modules):
    """Those of `modules` that a module imports. Its package is one only where a name of the package's own is meant."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for dotted in imports(tree, list(path.parent.relative_to(PACKAGE.parent).parts)):
        found = dotted if dotted in modules else dotted.rpartition(".")[0]
        if found in modules and found != module:
            yield found


def climbing(graph, room, floors):
    """The imports inside of a room that do not go down, in words; and the rooms in it that are on no floor."""
    floor = {name: number for number, names in enumerate(floors) for name in names}
    start = f"gradscope.{room}."

    def inner(module):
        """The room in the room; None for what stands above them all."""
        first, *rest = module.removeprefix(start).split(".") if module.startswith(start) else [None]
        return first if rest or first in floor else None

    found = [f"{inner(one)} is on no floor" for one in graph if inner(one) is not None and inner(one) not in floor]
    for one, others in graph.items():
        for other in others:
            here, there = (floor.get(inner(module), len(floors)) for module in (one, other))
            if inner(one) != inner(other) and there >= here:
                found.append(f"{one} imports {other}, which is not below it")
    return found


def circles(graph):
    """The modules that import each other, directly or not: those left when all that import nothing left are gone, and
    all that nothing left imports."""
    left = dict(graph)
    while True:
        imported_by_some = set().union(*left.values())
        kept = {one for one, others in left.items() if others & left.keys() and one in imported_by_some}
        if kept == left.keys():
            return sorted(left)
        left = {one: left[one] for one in kept}


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


FOLDERS = sorted({path.parent.relative_to(PACKAGE).parts[0] for path in PACKAGE.glob("*/*.py")})
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


@pytest.mark.parametrize("room", INSIDE)
def test_imports_go_down_inside_a_room(room):
    assert len(INSIDE[room]) <= MOST_FLOORS_INSIDE
    assert climbing(imports_inside(room), room, INSIDE[room]) == []


@pytest.mark.parametrize("room", FOLDERS)
def test_no_modules_of_a_room_import_each_other_in_a_circle(room):
    assert circles(imports_inside(room)) == []


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
        ("cli.py", "from gradscope.version import __version__"),
        ("__main__.py", "from gradscope.cli import main"),
    ],
)
def test_a_right_import_is_left_alone(module, source):
    assert faults(PACKAGE / module, source) == []


def test_an_import_that_climbs_inside_a_room_is_found():
    graph = {
        "gradscope.probes.core.sink": {"gradscope.probes.graph.walk"},
        "gradscope.probes.graph.walk": {"gradscope.probes.table"},
        "gradscope.probes.hooks.recorder": {"gradscope.probes.functions.transforms"},
        "gradscope.probes.attic.box": set(),
        "gradscope.probes.table": {"gradscope.probes.running"},
    }
    assert len(climbing(graph, "probes", INSIDE["probes"])) == 4


def test_a_circle_is_found():
    graph = {"above": {"a"}, "a": {"b"}, "b": {"c"}, "c": {"a", "below"}, "below": set()}
    assert circles(graph) == ["a", "b", "c"]


def test_what_stands_under_type_checking_counts(tmp_path):
    (tmp_path / "one.py").write_text("if TYPE_CHECKING:\n    from gradscope.probes.core import sink\n")
    tree = ast.parse((tmp_path / "one.py").read_text())
    assert list(imports(tree, [])) == ["gradscope.probes.core.sink"]
