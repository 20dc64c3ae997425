"""A number below zero that was stored without a sign: it comes back as 2 ** 16 or 2 ** 32 less a little."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.birth import Birth
from gradscope.model.site import Site

_BITS = (16, 32, 64)
_NEAR = 0.9  # of what the numbers of a type wrap around at: others were added to it
_LARGEST = 2**16
_CONVERTS = "astype"


def wrapped_line(case: Case, birth: Birth) -> tuple[Site, str] | None:
    """The only line that stores numbers as a type without a sign, at whose end an argument below zero lies, or that end
    divided by a number of the program."""
    values = [-one.value for one in birth.given if one.value is not None]
    factors = {1.0, *_constants(case)} if values else set()
    for bits in _BITS:
        if any(_NEAR * 2**bits <= one * factor <= 2**bits for one in values for factor in factors):
            name = f"uint{bits}"
            lines = _lines(case, name, converting=True) or _lines(case, name, converting=False)
            return (lines.pop(), name) if len(lines) == 1 else None
    return None


def _constants(case: Case) -> Iterator[float]:
    """What the program may have divided such numbers by: a width in pixels, the length of a window."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, int | float) and not isinstance(value, bool) and 1 < value <= _LARGEST:
                yield float(value)


def _lines(case: Case, name: str, converting: bool) -> set[Site]:
    """The lines that convert numbers to a type without a sign, or that make room of it."""
    return {
        syntax(case).site(file, node.lineno)
        for file in syntax(case).files
        for node in syntax(case).nodes(file)
        if isinstance(node, ast.Call) and (_converts(node, name) if converting else _makes(node, name))
    }


def _converts(call: ast.Call, name: str) -> bool:
    """`x.astype(np.uint16)` or `np.uint16(x)`."""
    called = last_name(call.func)
    return called == name or (called == _CONVERTS and any(_names(one, name) for one in call.args))


def _makes(call: ast.Call, name: str) -> bool:
    """`np.zeros(4, dtype=np.uint16)`."""
    return any(one.arg == "dtype" and _names(one.value, name) for one in call.keywords)


def _names(value: ast.expr, name: str) -> bool:
    return (isinstance(value, ast.Constant) and value.value == name) or (
        isinstance(value, (ast.Name, ast.Attribute)) and last_name(value) == name
    )
