"""GS886: a method that gives a new tensor, or a custom Function, called as a statement of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.functions_dropped import functions_dropped
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.source_names import function_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.finding import Severity
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_DETACH = "detach"
_OPERATORS = {  # by the method, what it runs where it changes anything
    _DETACH: (_DETACH,),
    **dict.fromkeys(("to", "float", "double", "half", "bfloat16", "cuda", "cpu", "long"), ("_to_copy",)),
    **{name: (name,) for name in ("clamp", "masked_fill", "index_fill", "mul", "add", "sub", "div", "relu", "squeeze")},
    **{name: (name,) for name in ("unsqueeze", "permute", "transpose", "scatter", "index_add", "nan_to_num")},
}


def result_dropped(case: Case) -> Iterator[Cause]:
    """What it flags: x.detach(), x.to(device), Carry.apply(x, loss) and the like as statements of their own.

    Why: they give a new tensor and leave x as it is. What stands on the next line still has its graph, its device, its
    values.

    Wrong:
        target.detach()
        loss = F.mse_loss(value, reward + target)

    Right:
        target = target.detach()
        loss = F.mse_loss(value, reward + target)

    Do instead: give the result a name, or take the method with an underscore where there is one: clamp_(), detach_().

    How it is found: the operator ran on that line, nothing read what it made, and the function reads the name again
    below. A hint, but for detach(), which nobody calls for anything else. So is the `apply` of a custom Function, which
    was given what requires grad, writes to none of its inputs, and whose backward no backward call has met.
    """
    for place, name in functions_dropped(case):
        yield Cause(
            f"nothing takes what {name}.apply() gives, and its backward never runs: its input goes on without it",
            place,
            certain=False,
            advice="give the result the name of what is handed on",
        )
    flow = dataflow(case)
    said: set[Site | None] = {None}
    for operation in flow.operations:
        site = operation.site
        if site in said or operation.backward is not None or site is None or not _is_called_here(operation, site):
            continue
        method = _method(case, site)
        if method is None or base_name(operation.operation.name) not in _OPERATORS[method]:
            continue
        if _is_unread(flow, operation):
            said.add(site)
            yield Cause(
                f"{method}() gives a new tensor, and nothing takes it: what it was called on stays as it was",
                site,
                severity=Severity.WARNING if method == _DETACH else None,
                certain=method == _DETACH,
                op=operation.operation.name,
            )


def _is_called_here(operation: FlowOperation, site: Site) -> bool:
    """Whether the user's line itself ran the operator: a module's to() changes the module."""
    return bool(operation.operation.stack) and operation.operation.stack[0] == site and site.origin is Origin.USER


def _method(case: Case, site: Site) -> str | None:
    """The method that a statement calls on a name which its function reads again below."""
    statement = syntax(case).statement(site)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in _OPERATORS:
        return None
    if not isinstance(call.func.value, (ast.Name, ast.Attribute)):
        return None
    name, place = ast.unparse(call.func.value), function_at(case, site)
    around = ast.Module([], []) if place is None else place[0]
    reads = (one for one in ast.walk(around) if isinstance(one, (ast.Name, ast.Attribute)) and ast.unparse(one) == name)
    is_read = any(one.lineno > call.lineno and isinstance(one.ctx, ast.Load) for one in reads)
    return call.func.attr if is_read else None


def _is_unread(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    return bool(operation.makes) and not any(flow.readers.get(made) for made in operation.makes)
