"""In-place edits that autograd does not see: GS702."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile
from pathlib import PurePath

from gradscope.engine.exec_info import ExecInfo, exec_info
from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.finding import Related, Severity
from gradscope.model.graph import Graph, Node
from gradscope.model.mutation import HiddenWrite
from gradscope.model.operation import base_name
from gradscope.model.site import Origin

_COLLECTIVES = "c10d."
_BOUNDS = ("clamp_", "clamp_min_", "clamp_max_", "clip_")  # by which a program may mean that the gradient passes
_ITS_FILES = ("distributed_c10d.py", "c10d_logger.py")  # of torch.distributed, with what its functions are wrapped in


def hidden_edit(case: Case) -> Iterator[Cause]:
    """Edit that autograd does not see.

    What it flags: a tensor that the graph uses was edited in place through `.data`, or under no_grad, with no error.
    Why: `.data` gives an alias with a version of its own, so that the check for in-place edits finds nothing: the
        backward then takes the new values for those of the forward, and its gradients are those of no function at all.
        The collectives of torch.distributed raise no version at all, whether a tensor is detached or not.
        An edit of a result under no_grad, before it is used, is in the values but not in the graph: the gradient passes
        as if it had not happened.
    Wrong:
        y = (x * w).sum()
        w.data.mul_(0.9)      # the derivative of x * w needs the old w
        y.backward()          # no error, a wrong gradient for x
    Right:
        y = (x * w).sum()
        y.backward()
        with torch.no_grad():
            w.mul_(0.9)       # after the backward; torch would complain before it
    Do instead: edit after the backward, under `torch.no_grad()` rather than through `.data`; give a collective a copy
        (`gates.detach().clone()`, a new tensor for each message); or make the edit a part
        of the graph (`torch.clamp(h, ...)`, `h * mask`).
    How it is found: a write through an alias whose version starts again at 0, or to a result while autograd is off, is
        noted with its time and the bytes that it wrote. A backward whose nodes are older looks for these bytes among
        what they saved: a neighbour in the same buffer may be written. Only nodes that this backward ran count. So is
        a sum or a message that the program's own line asks torch.distributed for, with a sample of what was there:
        what is equal afterwards was not edited. Of a parameter it is a hint: replicas may be averaged at any time. So
        it is where values are bounded before they are used: that their gradients pass may be meant.
    """
    plans: dict[int, ExecInfo] = {}
    for one in case.hidden_writes():
        if one.op.startswith(_COLLECTIVES) and not _is_asked_for(one):
            continue
        if one.backward not in case.graph_sizes() or not (one.late or _is_written_there(case, one)):
            continue
        graph = case.graph(one.backward)
        node = graph.nodes[one.node]
        plan = plans.get(one.backward) or plans.setdefault(one.backward, exec_info(graph))
        if one.node not in plan.needed:  # autograd.grad() runs only what leads to what it is asked for
            continue
        proven = one.late and _gives_all(graph, node, plan)
        leaf = next((saved.leaf for saved in node.saved if saved.name == one.name), None)
        tensor = leaf or source_lines.edited(case, one.site) or _given(case, one)
        proven = proven and not (leaf and one.op.startswith(_COLLECTIVES))
        related = (
            Related("modified_at", one.site, base_name(one.op)),
            Related("saved_at", node.site, node.name),
            Related("fails_at", graph.backward.site, "the gradients of this backward are wrong"),
        )
        yield Cause(
            _message(one, node.name, f"`{tensor}`" if tensor else "a tensor"),
            one.site,
            related,
            certain=proven,
            severity=Severity.ERROR if proven else _unproven(one),
            node=one.node,
            op=one.op,
            tensor=tensor,
            module=node.module.path if node.module is not None else None,
            backward=one.backward,
        )


def _unproven(one: HiddenWrite) -> Severity:
    """A hint where it may be meant: bounds before the use, for clamp() itself stops the gradient of what is outside."""
    return Severity.INFO if one.late or base_name(one.op) in _BOUNDS else Severity.WARNING


def _gives_all(graph: Graph, node: Node, plan: ExecInfo) -> bool:
    """Whether a node computed all of its gradients: for some of them alone it may not read all that it had saved."""
    return all(plan.should_execute(edge.target) for edge in graph.edges if edge.source == node.id)


def _is_written_there(case: Case, one: HiddenWrite) -> bool:
    """Whether the program edits in place, or one of torch's operators does so inside, for itself: cosine_similarity."""
    written = next((site for site in one.stack if site.origin is not Origin.TORCH), None)
    statement = None if written is None else syntax(case).statement(written)
    return statement is None or any(source_lines.edits(node) is not None for node in ast.walk(statement))


def _is_asked_for(one: HiddenWrite) -> bool:
    """Whether a line of the program asks for a collective: what shards a model gathers the same weights again."""
    inside = list(takewhile(lambda site: site.origin is Origin.TORCH, one.stack))
    asks = one.stack[len(inside)].origin is Origin.USER if len(inside) < len(one.stack) else False
    return asks and all(PurePath(site.file).name in _ITS_FILES for site in inside)


def _given(case: Case, one: HiddenWrite) -> str | None:
    """What a line gives to a collective first, as it is written there."""
    calls = source_lines.at(case, one.site) if one.op.startswith(_COLLECTIVES) else ()
    return next((ast.unparse(node.args[0]) for node in calls if isinstance(node, ast.Call) and node.args), None)


def _message(one: HiddenWrite, node: str, tensor: str) -> str:
    if one.late:
        return (
            f"{base_name(one.op)} edited {tensor} out of autograd's sight after {node} had saved it: "
            "no error, but the gradient was computed with the new values"
        )
    return (
        f"{base_name(one.op)} edited {tensor} out of autograd's sight before {node} used it: "
        "its values changed, the gradient passes as if they had not"
    )
