"""Losses that are only looked at: what a program trains with, computed of other data, behind a step or by its name."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.source_names import function_at
from gradscope.explain.evidence.syntax import attribute_call
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import user_frames

_MEASURED = re.compile(r"(?:^|_)(?:te?st|val|valid|validation|eval|dev|held|heldout|holdout|monitor)(?:_|$)")
_FAR = 4000  # operators that a loss is made of, at most
_ROOTS = 4  # losses that are compared: the first ones; a program has few forms of them


def is_measured(case: Case, term: FlowOperation, names: Iterable[str]) -> bool:
    """Whether a term has the form of a whole loss, and is called a test, or first computed behind a backward call; or
    is computed in a function that puts a model into evaluation mode and calls no backward()."""
    is_named = any(_MEASURED.search(name.lower()) for name in names)
    is_behind = is_named or _comes_behind(case, term)
    return (is_behind and _is_of_a_form_with_a_loss(dataflow(case), term)) or _is_evaluated(case, term)


def _is_evaluated(case: Case, term: FlowOperation) -> bool:
    """Whether a function that a term is computed in is one that evaluates, by its source."""
    for site in user_frames(term.operation.stack):
        scope, _ = function_at(case, site) or (None, None)
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            calls = list(filter(attribute_call("eval", "backward"), ast.walk(scope)))
            if calls and not any(attribute_call("backward")(one) for one in calls):
                return True
    return False


def _comes_behind(case: Case, term: FlowOperation) -> bool:
    """Whether no such term was computed before the first backward call: a part of its loss would have been."""
    steps = {call.number for call in case.backwards() if call.kind == "backward"}
    for operation in dataflow(case).operations:
        if operation.backward in steps:
            return True
        if operation.operation.stack == term.operation.stack:
            return False
    return False


def _is_of_a_form_with_a_loss(flow: RecordedDataflow, term: FlowOperation) -> bool:
    """Whether the operators behind a term are those behind a loss, whatever data they read."""
    own = _operators_behind(flow, term.makes[0])
    roots = [root.tensor for root in flow.roots if root.requires_grad and not flow.shape(root.tensor)]
    return any(own == _operators_behind(flow, root) for root in roots[:_ROOTS])


def _operators_behind(flow: RecordedDataflow, tensor: int) -> Counter[str]:
    """How often each operator computed a part of a value, as far as gradients go."""
    found: Counter[str] = Counter()
    waiting, seen = [(tensor, len(flow.operations))], {tensor}
    passed: set[int] = set()
    while waiting and len(passed) < _FAR:
        one, before = waiting.pop()
        for at in flow.sources(one, before):
            if at in passed:
                continue
            passed.add(at)
            found[base_name(flow.operations[at].operation.name)] += 1
            for read in flow.operations[at].reads:
                if read.requires_grad and not read.leaf and read.tensor not in seen:
                    seen.add(read.tensor)
                    waiting.append((read.tensor, at))
    return found
