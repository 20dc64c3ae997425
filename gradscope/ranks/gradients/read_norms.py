"""What a program reads of norms as numbers of Python: no tensor leads from there to what is scaled by them, but the
lines do."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gradscope.functions.source import names_in
from gradscope.model.flow import FlowOperation
from gradscope.ranks.source.deciding import origin
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.store.reader import Recording

READS = "aten._local_scalar_dense"

_Writes = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Return


def scaled_from(recording: Recording, one: FlowOperation, lines: Collection[str]) -> str | None:
    """The one of some lines that read numbers from which the number comes first by which an operator scales."""
    frames = frames_of(recording, one.operation.stack)
    numbers = {line.rpartition(":")[2] for line in lines}

    def added(around: list[Frame], value: ast.expr) -> ast.expr:
        return next((one for one in _added(around[0], value) if str(one.lineno) in numbers), value)

    for value in _given(frames[0]) if frames else ():
        found = origin(recording, frames, value, lambda node: str(node.lineno) in numbers, added)
        if found is not None and str(found) in lines:
            return str(found)
    return None


def _given(frame: Frame) -> Iterator[ast.expr]:
    """What the statements of a function have on the line at which it is, or around that."""
    for node in ast.walk(frame.function):
        if isinstance(node, _Writes) and node.lineno <= frame.site.line <= (node.end_lineno or 0) and node.value:
            yield node.value


def _added(frame: Frame, value: ast.expr) -> Iterator[ast.expr]:
    """What is added to the names in a value, in the function of a frame."""
    names = names_in(value)
    for node in ast.walk(frame.function):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in names:
            yield node.value
