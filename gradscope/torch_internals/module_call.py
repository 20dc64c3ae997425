"""Gives `Module.__call__` a code object with the same lines and columns, and two calls around it."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from types import CodeType, FunctionType

_AROUND = """class Module:
    def f():
        if torch.compiler.is_compiling(): pass
        {call} = {enter}(self)
        try: pass
        finally: {leave}({call})
"""


def call_instruction(code: CodeType) -> int:
    """The offset of the instruction on the last line of `_wrapped_call_impl`, where the module's call happens."""
    return max(start for start, _, line in code.co_lines() if line is not None)


def instrumented(function: FunctionType, enter: str, leave: str, call: str) -> CodeType:
    """The function's code with two calls around its body, every original line and column kept.

    `enter` and `leave` are names in its module, `call` one that `enter`'s answer has in the body. While Dynamo traces,
    the body stands alone, so that the same frames compile. Raises OSError, SyntaxError or LookupError.
    """
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    indent = len(lines[0]) - len(lines[0].lstrip())
    for node in ast.walk(definition):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.col_offset += indent
            node.end_col_offset = (node.end_col_offset or 0) + indent
    wrapper = ast.parse(_AROUND.format(enter=enter, leave=leave, call=call))
    shell = wrapper.body[0]
    assert isinstance(shell, ast.ClassDef)
    template = shell.body[0]
    assert isinstance(template, ast.FunctionDef)
    for node in ast.walk(template):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno = node.end_lineno = 1
    compiling, entering, guarded = template.body
    assert isinstance(compiling, ast.If)
    assert isinstance(guarded, ast.Try)
    compiling.body = copy.deepcopy(definition.body)  # lines are moved once for each node, not once for each place
    guarded.body = definition.body
    definition.body = [compiling, entering, guarded]
    shell.body = [definition]
    ast.increment_lineno(wrapper, first - 1)
    return _find(compile(wrapper, function.__code__.co_filename, "exec"), function.__code__)


def _find(code: CodeType, like: CodeType) -> CodeType:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == like.co_name:
                return constant.replace(co_firstlineno=like.co_firstlineno)
            return _find(constant, like)
    raise LookupError(like.co_name)
