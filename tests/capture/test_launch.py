"""A program finds the same world that `python` would give it, however it is started."""

import pytest

FACTS = """
import __main__, atexit, inspect, pickle, sys
class Box: pass
def say(text): print(text, file=sys.stderr)
print(sys.argv, __name__, sys.path[:2], sys.modules["__main__"] is __main__)
print(list(globals()), __package__, __spec__ and __spec__.name, type(__loader__))
print(globals().get("__file__"), globals().get("__cached__"))
print(type(__builtins__), __annotations__ if "__annotations__" in globals() else None)
print(type(pickle.loads(pickle.dumps(Box()))) is Box is __main__.Box)
try: print(inspect.getsource(Box))
except (OSError, TypeError) as error: print(error)
try:
    from . import friend
    print(friend.NAME)
except ImportError as error: print(error)
atexit.register(lambda: print("at exit", __main__.Box, Box.__module__))
say("to standard error")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a folder")
    package = folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text("import sys\nprint('package imported', sys.argv)")
    (package / "friend.py").write_text("NAME = __name__")
    for program in (folder / "who.py", package / "__main__.py", package / "module.py"):
        program.write_text(FACTS)
    (folder / "link.py").symlink_to(package / "module.py")
    return folder


@pytest.mark.parametrize(
    "program",
    [
        ("who.py", "-x", "--detail", "--", "value"),
        ("./package/../who.py",),
        ("link.py",),
        ("package",),
        ("-m", "package", "-q", "one"),
        ("-m", "package.module", "one"),
        ("-c", FACTS, "-f", "one"),
    ],
    ids=["script", "relative", "link", "folder", "package", "module", "code"],
)
def test_finds_what_python_gives_it(side_by_side, folder, program):
    plain, traced = side_by_side.pair(folder, *program)
    assert traced == plain
    assert plain.status == 0


def test_may_change_its_directory(side_by_side, folder):
    program = "import os; os.mkdir('deeper'); os.chdir('deeper')"
    run = side_by_side.gradscope(folder, "trace", "-o", "moved.gscope", "-c", program)
    assert (folder / "moved.gscope").is_file()
    assert run.stderr.startswith("gradscope: 0 backward calls, 0 nodes, ")
    assert " 0 kB, " not in run.stderr
