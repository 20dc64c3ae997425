"""A train() of a class's own that rests parts, and then has its base's train() wake them again.

The surprise: called with a True it rests nothing; the base sets the mode of all that is inside, whatever came before.
"""

from __future__ import annotations

import ast

from gradscope.explain.deductions.states.woken_by_train import Around, module_name
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_lines import line
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import EVAL, TrainingCall

_TRAIN = "train"


def rested_in_vain(case: Case, stacks: set[Stack]) -> tuple[TrainingCall, Site] | None:
    """The eval() of a part whose layers run here, and the base's train() behind it in the same function."""
    around = Around(case, stacks)
    for timeline in timelines(case):
        for _, call in timeline.of(EVAL):
            if module_name(call) in around.parts:
                woken = _woken(case, call)
                if woken is not None:
                    return call, woken
    return None


def _woken(case: Case, rest: TrainingCall) -> Site | None:
    """The line of the base's train() that comes behind a call in a train() of one's own."""
    for frame in user_frames(rest.stack):
        function = syntax(case).function(frame) if frame.function == _TRAIN else None
        if isinstance(function, ast.FunctionDef):
            of_base = [node.lineno for node in ast.walk(function) if isinstance(node, ast.Call) and _is_of_base(node)]
            return line(case, frame.file, of_base[0], frame.function) if of_base and of_base[0] > frame.line else None
    return None


def _is_of_base(call: ast.Call) -> bool:
    """`super().train(...)`, `super(Class, self).train(...)` or `nn.Module.train(self, ...)`."""
    if called_name(call) != _TRAIN or not isinstance(call.func, ast.Attribute):
        return False
    owner, first = call.func.value, call.args[0] if call.args else None
    of_super = isinstance(owner, ast.Call) and called_name(owner) == "super"
    return of_super or (isinstance(first, ast.Name) and first.id == "self")
