"""GS713: a loss of two dtypes, which its forward takes and its backward refuses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.finding import Related
from gradscope.model.graph import Backward, Node
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.model.tensor import SavedTensor

_REFUSED = re.compile(r"Found dtype (\w+) but expected (\w+)")
_DTYPES = {  # as the error calls them
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
}
_REDUCED = ("float16", "bfloat16")
_LOSSES = ("LossBackward", "BinaryCrossEntropyBackward")  # other operators promote, in their backward as well
_ARGUMENTS = ("self", "target", "weight")  # as their nodes call what they saved


def dtypes_differ(case: Case) -> Iterator[Cause]:
    """What it flags: a loss was given two dtypes, and its backward raised for that.

    Why: the forward of some losses converts what it compares; the backward writes the gradient in the dtype of the
    prediction, and refuses another. What numpy computes is float64 unless told otherwise, and torch.tensor keeps that;
    labels and counts are int64; what comes out of autocast is float16 or bfloat16.

    Wrong:
        target = torch.tensor(numpy_array)    # float64
        loss = torch.nn.functional.huber_loss(net(x), target)

    Right:
        target = torch.tensor(numpy_array, dtype=torch.float32)
        loss = torch.nn.functional.huber_loss(net(x), target)

    Do instead: make the data in the dtype of the prediction, with dtype=torch.float32 or .float(); compute the loss
    of what autocast gives in float32.

    How it is found: the error names two dtypes, and the youngest loss of the graph has saved one argument of each.
    Where the argument was made is followed back through the operators that kept its dtype.
    """
    for call in case.failed():
        refused = _REFUSED.search(call.exception or "")
        if refused is None:
            continue
        found, expected = (_DTYPES.get(name, name) for name in refused.groups())
        losses = [one for one in case.graph(call.number).nodes if {found, expected} <= _dtypes(one)]
        stopped = [one for one in losses if one.id == call.stopped] or losses
        if stopped:
            yield _cause(case, call, max(stopped, key=lambda one: one.seq_nr or 0), found, expected)


def _dtypes(node: Node) -> set[str]:
    """The dtypes of what a loss has saved."""
    is_loss = any(name in node.name for name in _LOSSES)
    return {one.type.dtype for one in node.saved if one.name in _ARGUMENTS} if is_loss else set()


def _cause(case: Case, call: Backward, node: Node, found: str, expected: str) -> Cause:
    dtype, other = (expected, found) if expected in _REDUCED else (found, expected)
    odd = next(one for one in node.saved if one.type.dtype == dtype and one.name in _ARGUMENTS)
    name = _name(case, node.site, odd)
    made = _made_at(case, node, dtype)
    advice = ""
    if expected in _REDUCED:
        advice = f"convert it to float32 before the loss: `{name}.float()`"
    elif made is not None:
        advice = f"make it with dtype=torch.{other}, or convert it: `{name}.to(torch.{other})`"
    places = (Related("made_at", made, f"{dtype} from here"),) if made not in (None, node.site) else ()
    loss = base_name(node.op) if node.op is not None else node.short_name
    return Cause(
        f"{loss} was given `{name}` in {dtype} beside {other}: its backward takes one dtype only",
        node.site,
        (*places, Related("fails_at", call.site, f"backward {call.number}")),
        fails=True,
        advice=advice,
        node=node.id,
        op=node.op,
        tensor=name,
        backward=call.number,
    )


def _name(case: Case, site: Site | None, argument: SavedTensor) -> str:
    """An argument as the line that computes the loss writes it, else as the loss calls it."""
    place = _ARGUMENTS.index(argument.name)
    statement = None if site is None else syntax(case).parsed(site.file).whole_statements.get(site.line)
    nodes = ast.walk(statement) if statement is not None else ()
    calls = [one for one in nodes if isinstance(one, ast.Call) and len(one.args) > max(place, 1)]
    written = calls[0].args[place] if len(calls) == 1 else None
    return ast.unparse(written) if isinstance(written, (ast.Name, ast.Attribute)) else argument.name


def _made_at(case: Case, node: Node, dtype: str) -> Site | None:
    """Where a loss's argument got its dtype: the oldest operator on its way back that gave it."""
    flow = dataflow(case)
    waiting: int | None = max(flow.under(lambda stack: stack == node.stack), default=None)
    seen: set[int] = set()
    site = None
    while waiting is not None:
        reads = (one.tensor for one in flow.operations[waiting].reads if one.tensor not in seen)
        tensor = next((one for one in reads if one in flow.tensors and flow.tensors[one].type.dtype == dtype), None)
        if tensor is None:
            return site
        seen.add(tensor)
        waiting = max(flow.sources(tensor, waiting), default=None)
        site = site if waiting is None else flow.operations[waiting].site or site
    return site
