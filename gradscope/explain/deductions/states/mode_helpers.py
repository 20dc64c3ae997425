"""The line that asks for a mode: where a function does nothing but switch modes, it is the one that calls it.

The surprise: such a function is right wherever it is right to call it, and says nothing of where it is not.
"""

from __future__ import annotations

import ast

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.site import Site, user_frames
from gradscope.model.training import TrainingCall

_MODES = ("train", "eval")


def asking_line(case: Case, switch: TrainingCall) -> Site | None:
    """The line that has a mode switched, by way of functions that do nothing else."""
    frames, names = user_frames(switch.stack), set(_MODES)
    for inner in frames[:-1]:
        function = syntax(case).function(inner)
        if not isinstance(function, ast.FunctionDef) or not all(_switches(one, names) for one in function.body):
            return inner
        names.add(function.name)
    return frames[-1] if frames else None


def _switches(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement calls what switches modes or says which one it is, in a loop or under a condition as well."""
    if isinstance(statement, ast.If | ast.For):
        return all(_switches(one, names) for one in (*statement.body, *statement.orelse))
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call):
        return called_name(value) in names
    return isinstance(value, ast.Constant | ast.Name) or (
        value is None and isinstance(statement, ast.Pass | ast.Return)
    )
