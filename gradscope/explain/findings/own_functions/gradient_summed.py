"""GS403, met at run time: torch sums what a custom Function's backward returns, and that is not what was meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.summed_samples import taken_as_samples
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.functions.source import called_name
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import FlowOperation
from gradscope.model.graph import FunctionClass, Node
from gradscope.model.operation import base_name

_APPLIES = "torch/autograd/function.py"  # which calls every backward of a custom Function


def gradient_summed(case: Case) -> Iterator[Cause]:
    """A gradient of more elements than the input, of a Function that averages over what it is summed over; or of a
    parameter, where the program then goes over the samples that it believes to be in .grad.
    """
    flow, said = dataflow(case), set[str]()
    for at, operation in enumerate(flow.operations if case.functions() else ()):
        node = _node(case, operation)
        function = None if node is None else node.function
        if node is None or function is None or function.name in said:
            continue
        maker = flow.maker(operation.reads[0].tensor, at)
        if maker is None or flow.operations[maker].operation.node != node.id or _is_by_torch(flow.operations[maker]):
            continue
        cause = _averaged(case, at, flow.operations[maker], node, function) or _taken(case, at, node, function)
        if cause is not None:
            said.add(function.name)
            yield cause


def _averaged(case: Case, at: int, maker: FlowOperation, node: Node, function: FunctionClass) -> Cause | None:
    if not _takes_a_mean(case, function):
        return None
    return Cause(
        f"backward of {function.bare_name} gives {_shape(case, at)}, which torch sums: where forward takes a mean, a "
        "sum is as many times too large",
        maker.site,
        (Related("class_at", function.class_site, function.name), Related("applied_at", node.site)),
        certain=False,
        severity=Severity.INFO,
        node=node.id,
        backward=maker.backward,
        function=function.name,
    )


def _taken(case: Case, at: int, node: Node, function: FunctionClass) -> Cause | None:
    flow = dataflow(case)
    taken, summed = taken_as_samples(flow, at), flow.operations[at]
    if taken is None:
        return None
    return Cause(
        f"this goes over the first dimension of a gradient, which is {_shape(case, at)[1:]}: backward of "
        f"{function.bare_name} gave {_shape(case, at)}, one for each sample, and torch has summed them",
        taken.site,
        (Related("class_at", function.class_site, function.name), Related("applied_at", node.site)),
        certain=False,
        severity=Severity.INFO,
        advice="sum it in backward, and keep those of the samples elsewhere",
        node=node.id,
        backward=summed.backward,
        function=function.name,
    )


def _node(case: Case, operation: FlowOperation) -> Node | None:
    """The custom Function's node in which torch itself sums a gradient to the shape of its input."""
    is_sum = base_name(operation.operation.name) == "sum" and _is_by_torch(operation) and len(operation.reads) == 1
    backward, place = operation.backward, operation.operation.node
    if not is_sum or backward is None or place is None or backward not in case.graph_sizes():
        return None
    node = case.graph(backward).nodes[place]
    return node if node.function is not None else None


def _is_by_torch(operation: FlowOperation) -> bool:
    """Whether no frame of a backward in Python led to it."""
    return not any(site.file.replace("\\", "/").endswith(_APPLIES) for site in operation.operation.stack)


def _takes_a_mean(case: Case, function: FunctionClass) -> bool:
    forward = source_lines.method(source_lines.class_at(case, function.class_site), "forward")
    calls = () if forward is None else (one for one in ast.walk(forward) if isinstance(one, ast.Call))
    return any(called_name(one) == "mean" for one in calls)


def _shape(case: Case, at: int) -> list[int]:
    flow = dataflow(case)
    return list(flow.shape(flow.operations[at].reads[0].tensor))
