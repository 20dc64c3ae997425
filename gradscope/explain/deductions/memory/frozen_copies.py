"""What is to be frozen through state_dict(): it gives detached copies of the names, and the parameters train on."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.operation import base_name

_STATE = "state_dict"
_ENTRIES = ("items", "values")
_FLAG, _SETTER = "requires_grad", "requires_grad_"
_TIMES = 2  # backward calls that reach the parameters after it
_ADVICE = "go through named_parameters(), or freeze the module: module.requires_grad_(False)"


def frozen_copies(case: Case) -> Iterator[Cause]:
    """Loops over state_dict() that do nothing but set requires_grad to False, where all that they see trains on."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.For):
                yield from _of_loop(case, file, node)


def _of_loop(case: Case, file: str, loop: ast.For) -> Iterator[Cause]:
    value = _entry(loop)
    setting = None if value is None else _only_freezes(loop, value)
    trained = [] if setting is None else _trained(case, file, loop)
    if setting is not None and trained:
        yield Cause(
            f"state_dict() gives detached tensors: this freezes nothing, and {trained[0]} is trained",
            syntax(case).site(file, loop.lineno),
            (Related("called_at", syntax(case).site(file, setting), "sets it on what is detached"),),
            tensor=trained[0],
            advice=_ADVICE,
        )


def _entry(loop: ast.For) -> str | None:
    """`value` of `for name, value in model.state_dict().items():`."""
    entries = loop.iter
    if not (isinstance(entries, ast.Call) and isinstance(entries.func, ast.Attribute)):
        return None
    state = entries.func.value
    if entries.func.attr not in _ENTRIES or not isinstance(state, ast.Call) or last_name(state.func) != _STATE:
        return None
    if state.args or state.keywords:  # keep_vars=True gives the parameters themselves
        return None
    target = loop.target
    if isinstance(target, ast.Tuple) and entries.func.attr == "items":
        target = target.elts[-1]
    return target.id if isinstance(target, ast.Name) else None


def _only_freezes(loop: ast.For, value: str) -> int | None:
    """The line of a loop that sets the flag to False, where the loop does nothing else with the value."""
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    lines = [node.lineno for node in inside if isinstance(node, ast.Assign | ast.Call) and _freezes(node, value)]
    uses = sum(isinstance(node, ast.Name) and node.id == value for node in inside)
    return lines[0] if lines and uses == len(lines) else None


def _freezes(node: ast.Assign | ast.Call, value: str) -> bool:
    """Whether this is `value.requires_grad = False`, or the call that does it."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.func
    given = [node.value] if isinstance(node, ast.Assign) else node.args
    if not isinstance(target, ast.Attribute) or target.attr != (_FLAG if isinstance(node, ast.Assign) else _SETTER):
        return False
    is_entry = isinstance(target.value, ast.Name) and target.value.id == value
    return is_entry and any(isinstance(one, ast.Constant) and one.value is False for one in given)


def _trained(case: Case, file: str, loop: ast.For) -> list[str]:
    """The parameters that a loop came to, where backward calls after it reach every one; none where one rests."""
    flow = dataflow(case)
    lines = range(loop.iter.lineno, (loop.iter.end_lineno or loop.iter.lineno) + 1)
    seen: dict[int, str] = {}
    passed = since = -1
    for operation in flow.operations:
        site = operation.site
        passed = max(passed, operation.backward if operation.backward is not None else -1)
        if base_name(operation.operation.name) == "detach" and site is not None and site.line in lines:
            for one in operation.reads if site.file == file else ():
                known = flow.tensors.get(one.tensor)
                if known is not None and known.parameter:
                    seen[one.tensor] = known.leaf or "a parameter"
                    since = max(passed, operation.run // 2 - 1)  # blocks before, and in, a backward take turns
    reached = Counter(leaf.tensor for leaf in case.leaf_gradients() if leaf.backward > since)
    return list(seen.values()) if all(reached[one] >= _TIMES for one in seen) else []
