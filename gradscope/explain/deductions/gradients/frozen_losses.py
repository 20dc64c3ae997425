"""A loss that depends on nothing that requires grad: all is frozen, or what the optimizer has never asked for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.graph_cuts import MissingGradient, Reason
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import attribute_call, syntax
from gradscope.functions.source import called_name
from gradscope.model.graph import Backward
from gradscope.model.site import Site

FROZEN = "GS720"
_ASK = "make it one that learns: nn.Parameter(...), or .requires_grad_() behind all that computes it"

OPTIMIZERS = """
    Adadelta Adafactor Adagrad Adam Adamax AdamW ASGD LBFGS Muon NAdam RAdam RMSprop Rprop SGD SparseAdam
"""
_OPTIMIZERS = frozenset(OPTIMIZERS.split())
_ASKS = ("requires_grad", "Parameter(", "Variable(")
_FREEZES_IN_A_CALL = re.compile(r"\.requires_grad_\((?!\)|True\))")
_FREEZES = re.compile(r"\.requires_grad=(?!=|True$)")


def frozen_loss(case: Case, call: Backward) -> MissingGradient:
    """Nothing that the loss was computed from requires grad."""
    plain = _given_plain(case)
    if plain is not None:
        return MissingGradient(FROZEN, Reason.GIVEN_PLAIN, Cause("", plain, certain=False, advice=_ASK))
    lines = freezing_lines(case)
    if lines:
        return MissingGradient(FROZEN, Reason.FROZEN_HERE, Cause("", lines[0], certain=len(lines) == 1))
    return MissingGradient(FROZEN, Reason.ALL_FROZEN, Cause("", call.site, certain=False))


def freezing_lines(case: Case) -> list[Site]:
    """The lines that freeze something, or may: `weight.requires_grad = not frozen`."""
    calls = syntax(case).everywhere(attribute_call("requires_grad_"))
    lines = [site for site in calls if _FREEZES_IN_A_CALL.search(site.source or "")]
    return [*lines, *syntax(case).matching(lambda code: bool(_FREEZES.search(code)))]


def _given_plain(case: Case) -> Site | None:
    """The only line that makes a tensor which an optimizer is given, and which nobody asked to require grad."""
    found = {site for file in syntax(case).files for site in _plain(case, file)}
    return found.pop() if len(found) == 1 else None


def _plain(case: Case, file: str) -> Iterator[Site]:
    nodes = syntax(case).nodes(file)
    for call in nodes:
        given = call.args[0] if isinstance(call, ast.Call) and called_name(call) in _OPTIMIZERS and call.args else None
        for one in given.elts if isinstance(given, ast.List) else ():
            name = ast.unparse(one)
            made = [node for node in nodes if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets)]
            asked = any(f"{name}.requires_grad" in ast.unparse(node) for node in nodes if isinstance(node, ast.stmt))
            if len(made) == 1 and not asked and not any(word in ast.unparse(made[0].value) for word in _ASKS):
                yield syntax(case).site(file, made[0].lineno)
