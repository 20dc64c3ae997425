"""Gives functions of torch code objects that call us, with the same lines and columns: no frame more, in any traceback.

While Dynamo traces, the body stands alone, so that the same frames compile.
"""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import sys
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

_AROUND = """class Module:
    def f():
        if torch.compiler.is_compiling(): pass
        {call} = {enter}(self)
        try: pass
        finally: {leave}({call})
"""
_AT_ENTRY = """class Module:
    def f():
        if not {compiling}(): {note}({arguments})
"""

_FUTURES = __future__.annotations.compiler_flag
_made: dict[tuple[FunctionType, str], tuple[CodeType, CodeType]] = {}  # forked children and later recordings use it


def call_instruction(code: CodeType) -> int:
    """The offset of the instruction on the last line of `_wrapped_call_impl`, where the module's call happens."""
    return max(start for start, _, line in code.co_lines() if line is not None)


def around(function: FunctionType, enter: str, leave: str, call: str) -> CodeType:
    """The function's code with two calls around its body.

    `enter` and `leave` are names in its module, `call` one that `enter`'s answer has in the body. Raises OSError,
    SyntaxError or LookupError.
    """
    return _once(function, _AROUND.format(enter=enter, leave=leave, call=call), _around)


def _around(function: FunctionType, text: str) -> CodeType:
    definition, first = _parsed(function)
    wrapper, (compiling, entering, guarded) = _template(text)
    assert isinstance(compiling, ast.If)
    assert isinstance(guarded, ast.Try)
    compiling.body = copy.deepcopy(definition.body)  # lines are moved once for each node, not once for each place
    guarded.body = definition.body
    return _compiled(function, wrapper, definition, [compiling, entering, guarded], first)


def at_entry(function: FunctionType, note: str, compiling: str) -> CodeType:
    """The function's code with a call in front, of the name `note` in its module, with its arguments by keyword.

    `compiling` is a name of `torch.compiler.is_compiling` there. Raises OSError, SyntaxError or LookupError.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    arguments = ", ".join(f"{name}={name}" for name in names)
    return _once(function, _AT_ENTRY.format(note=note, compiling=compiling, arguments=arguments), _at_entry)


def _at_entry(function: FunctionType, text: str) -> CodeType:
    definition, first = _parsed(function)
    wrapper, noting = _template(text)
    return _compiled(function, wrapper, definition, [*noting, *definition.body], first)


def _once(function: FunctionType, text: str, make: Callable[[FunctionType, str], CodeType]) -> CodeType:
    """What was made before of the same code: most of what the beginning of a recording costs."""
    key, code = (function, text), function.__code__
    known = _made.get(key)
    if known is None or known[0] is not code:
        known = _made[key] = code, make(function, text)
    return known[1]


def _parsed(function: FunctionType) -> tuple[ast.FunctionDef, int]:
    """The function's definition, with the columns of its file, and the file's line where it begins."""
    lines, first = inspect.getsourcelines(function)
    definition = ast.parse(textwrap.dedent("".join(lines))).body[0]
    assert isinstance(definition, ast.FunctionDef)
    indent = len(lines[0]) - len(lines[0].lstrip())
    for node in ast.walk(definition):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.col_offset += indent
            node.end_col_offset = (node.end_col_offset or 0) + indent
    return definition, first


def _template(text: str) -> tuple[ast.Module, list[ast.stmt]]:
    """A module with a class, for its names, and the statements of the function in it."""
    wrapper = ast.parse(text)
    shell = wrapper.body[0]
    assert isinstance(shell, ast.ClassDef)
    function = shell.body[0]
    assert isinstance(function, ast.FunctionDef)
    for node in ast.walk(function):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno = node.end_lineno = 1
    return wrapper, function.body


def _compiled(
    function: FunctionType, wrapper: ast.Module, definition: ast.FunctionDef, body: list[ast.stmt], first: int
) -> CodeType:
    """The code of a definition with another body, in place of the template's function."""
    shell = wrapper.body[0]
    assert isinstance(shell, ast.ClassDef)
    definition.body, definition.decorator_list = body, []
    definition.lineno = 1  # where a code object begins: at the first decorator, lines count from there
    shell.body = [definition]
    ast.increment_lineno(wrapper, first - 1)
    futures = function.__code__.co_flags & _FUTURES  # those of its own file, not of this one
    return _find(compile(wrapper, function.__code__.co_filename, "exec", futures, dont_inherit=True), function)


def _find(code: CodeType, function: FunctionType) -> CodeType:
    like = function.__code__
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == like.co_name:
                changes: dict[str, Any] = {"co_firstlineno": like.co_firstlineno}
                if sys.version_info >= (3, 11):
                    changes["co_qualname"] = function.__qualname__
                return constant.replace(**changes)
            return _find(constant, function)
    raise LookupError(like.co_name)
