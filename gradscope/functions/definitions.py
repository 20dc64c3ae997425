"""The classes of a script that must not run again: its imports and definitions are executed, and nothing else of it.

A script trains where it is imported, and often has no `if __name__ == "__main__"` around that.
"""

from __future__ import annotations

import ast
import linecache
import sys
from pathlib import Path
from types import ModuleType

from gradscope.errors import UsageError
from gradscope.functions.loading import trimmed_traceback

_NAME = "__mp_main__"  # as multiprocessing calls the script that it imports again: it hides no other module
_DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def definitions(file: str, text: str) -> ModuleType:
    """A module with what a script defines at its outermost level; its folder becomes importable, as when it runs.

    Raises UsageError where an import or a class body raises.
    """
    module = ModuleType(_NAME)
    module.__file__ = file
    lines = text.splitlines(keepends=True)
    linecache.cache[file] = (len(text), None, lines, file)  # the recorded text: the file may have changed since
    sys.path.insert(0, str(Path(file).resolve().parent))
    sys.modules[module.__name__] = module
    try:
        tree = ast.parse(text, file)
        tree.body = [one for one in tree.body if _defines(one)]
        exec(compile(tree, file, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"the definitions of {file} raise {type(error).__name__}: {error}", trimmed_traceback(error)
        ) from None
    return module


def _defines(statement: ast.stmt) -> bool:
    """An import, a function, a class, or a name for what needs no call; several of them in an `if` or a `try`."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return statement.value is not None and not any(isinstance(one, ast.Call) for one in ast.walk(statement.value))
    if isinstance(statement, (ast.If, ast.Try)):
        return all(_defines(one) or isinstance(one, ast.Pass) for one in _inside(statement))
    return isinstance(statement, _DEFINING)


def _inside(statement: ast.If | ast.Try) -> list[ast.stmt]:
    """What stands directly in a compound statement."""
    handled = [one for handler in getattr(statement, "handlers", ()) for one in handler.body]
    return [*statement.body, *statement.orelse, *handled, *getattr(statement, "finalbody", ())]
