"""What a signal handler of the program raises inside our code goes through it: read off the syntax of what records.

A handler may strike in any Python code that ours calls, so neither an `except` nor a `getattr` with a default may end
the story; a property of torch's is such code as well.
"""

import ast

from tests.test_floors import PACKAGE

OF_THE_PROGRAM = ("program.py", "periodic_flush.py")  # runs the program; runs in a thread where no handler strikes
ROOMS = [
    *(PACKAGE / "probes").glob("**/*.py"),
    *(PACKAGE / "launch").glob("*.py"),
    PACKAGE / "capture.py",
    PACKAGE / "bounds.py",
]
FILES = sorted(path for path in ROOMS if path.name not in OF_THE_PROGRAM)
LETS_THROUGH = ("let_through", "note", "_failed")
OURS = ("CannotRepeatError",)
IN_C = ("_forward_cls", "variable", "_of_a_leaf")  # a slot is; and all that begins with two underscores


def name_called(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def lets_through(handler):
    if isinstance(handler.type, ast.Name) and handler.type.id in OURS:
        return True
    calls = {name_called(it) for it in ast.walk(handler) if isinstance(it, ast.Call)}
    return not calls.isdisjoint(LETS_THROUGH) or any(isinstance(it, ast.Raise) for it in ast.walk(handler))


def is_answered_in_c(name):
    return isinstance(name, ast.Constant) and (name.value.startswith("__") or name.value in IN_C)


def swallows(call):
    """`hasattr`, `getattr` with a default, and `suppress`: each ends whatever is raised below."""
    function = name_called(call)
    if function == "suppress":
        return True
    asks = function == "hasattr" or (function == "getattr" and len(call.args) == 3)
    return asks and not is_answered_in_c(call.args[1])


def inside_functions(tree):
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            yield from ast.walk(function)


def where_it_ends(path):
    """The lines of a file on which what a handler raises would end."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ended = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and not lets_through(node)}
    ended |= {node.lineno for node in inside_functions(tree) if isinstance(node, ast.Call) and swallows(node)}
    return sorted(ended)


def test_nothing_that_a_handler_raises_ends_in_our_code():
    assert FILES
    found = {str(path.relative_to(PACKAGE)): where_it_ends(path) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}
