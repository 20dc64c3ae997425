"""What a custom Function computes in its forward and keeps for its backward is a constant there.

Nothing connects it with the inputs: the first derivative is right, and the derivative of that misses this.

It is no fault where that derivative is zero (a mask, a sign), where nobody takes it, and where what is trained has no
part in the input: then what is missing would go to data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, reads_shape_only
from gradscope.explain.evidence.forms import COPIES, FORMS
from gradscope.explain.evidence.trails import trail
from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Backward, FunctionClass, Node
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site, Stack

_FLAT = ("sign", "sgn", "round", "floor", "ceil", "trunc", "heaviside", "bernoulli", "multinomial", "detach")
_METHODS = ("forward", "setup_context")
_FAR = 2000  # tensors between a Function's input and what is trained
_NEXT = 8  # backward calls behind the one whose result they differentiate
_TRIES = 16  # operators of a line that are looked at
_AROUND = 200  # operators of one forward


@dataclass(frozen=True, slots=True)
class SavedConstant:
    """`maker` made in a forward what `reader` takes for a constant in a backward that `second` differentiates.

    `alone`: this backward reads neither inputs nor outputs beside it, so all that comes through the inputs is missed.
    """

    function: FunctionClass
    node: Node
    maker: FlowOperation
    reader: FlowOperation
    second: Backward
    alone: bool


def saved_constants(case: Case) -> Iterator[SavedConstant]:
    """The first for each Function of the program."""
    if not case.functions() or not any(call.create_graph for call in case.backwards()):
        return
    flow, tried = dataflow(case), Counter[tuple[FunctionClass, Site | None]]()
    said = set[FunctionClass]()
    for at, reader in enumerate(flow.operations):
        node = _node(case, reader)
        function = None if node is None else node.function
        if node is None or function is None or function in said or tried[function, reader.site] == _TRIES:
            continue
        tried[function, reader.site] += 1
        found = _found(case, flow, at, node, function)
        if found is not None:
            said.add(function)
            yield found


def _node(case: Case, operation: FlowOperation) -> Node | None:
    """The node of a Function of the program in whose backward an operator ran that recorded a graph."""
    number, place = operation.backward, operation.operation.node
    call = None if number is None else case.backwards_by_number().get(number)
    if call is None or not call.create_graph or not operation.operation.grad or call.number not in case.graph_sizes():
        return None
    nodes = case.graph(call.number).nodes
    node = nodes[place] if place is not None and place < len(nodes) else None
    site = None if node is None or node.function is None else node.function.class_site
    return node if site is not None and site.origin is Origin.USER else None


def _found(case: Case, flow: RecordedDataflow, at: int, node: Node, function: FunctionClass) -> SavedConstant | None:
    reader = flow.operations[at]
    for read in () if reads_shape_only(reader) else reader.reads:
        maker = flow.maker(read.tensor, at) if not read.requires_grad else None
        if maker is None or not _is_in_forward(flow, maker):
            continue
        inputs = _inputs(flow, read.tensor, at, smooth=False)
        second = _second(case, reader, node) if inputs else None
        if second is None or not _is_smooth(flow, maker) or not _is_trained(case, flow, inputs, maker, second):
            continue
        beside = {one.tensor for each in _beside(flow, at) for one in each.reads if one.requires_grad}
        alone = beside.isdisjoint(inputs | _outputs(flow, maker).keys())
        return SavedConstant(function, node, flow.operations[maker], reader, second, alone)
    return None


def _inputs(flow: RecordedDataflow, tensor: int, before: int, smooth: bool) -> set[int]:
    """The inputs with a graph that a tensor of a forward was computed from; `smooth`: not only copied."""
    found: set[int] = set()
    waiting, seen = [(tensor, before, not smooth)], {(tensor, not smooth)}
    while waiting:
        one, until, bent = waiting.pop()
        at = flow.maker(one, until)
        operation = None if at is None else flow.operations[at]
        if at is None or operation is None or not _is_in_forward(flow, at) or flow.is_whole(one):
            continue
        if _name(operation) in _FLAT or reads_shape_only(operation):
            continue
        bent = bent or _name(operation) not in (*FORMS, *COPIES)
        found |= {read.tensor for read in operation.reads if read.requires_grad and bent}
        new = {(read.tensor, bent) for read in operation.reads if not read.requires_grad} - seen
        seen |= new
        waiting += [(each, at, known) for each, known in new]
    return found


def _is_in_forward(flow: RecordedDataflow, at: int) -> bool:
    """Whether an operator ran in the forward of a Function, where gradients are off; a backward counts as inside."""
    operation = flow.operations[at]
    return at in flow.inside_functions and operation.backward is None and not operation.operation.grad


def _is_smooth(flow: RecordedDataflow, at: int) -> bool:
    """Whether what the forward gives has derivatives: what is handed on or rounded is given one by backward alone."""
    return any(_inputs(flow, tensor, place + 1, smooth=True) for tensor, place in _outputs(flow, at).items())


def _outputs(flow: RecordedDataflow, at: int) -> dict[int, int]:
    """What the forward around an operator gives, with the operator that made each."""
    outer = _outside(flow.operations[at].operation.stack)
    around = range(max(at - _AROUND, 0), min(at + _AROUND, len(flow.operations)))
    made = {
        tensor: place
        for place in around
        if _is_in_forward(flow, place) and _outside(flow.operations[place].operation.stack) == outer
        for tensor in flow.operations[place].makes
    }
    later = {tensor: flow.later(tensor, place) for tensor, place in made.items()}
    return {tensor: made[tensor] for tensor, met in later.items() if met is not None and met.requires_grad}


def _outside(stack: Stack) -> Stack:
    """The frames around the forward of a Function, which are one call's."""
    inner = (depth for depth, site in enumerate(stack) if site.function.rpartition(".")[2] in _METHODS)
    return stack[next(inner, 0) + 1 :]


def _beside(flow: RecordedDataflow, at: int) -> Iterator[FlowOperation]:
    """The operators of the same node's backward."""
    one = flow.operations[at]
    for other in flow.operations[max(at - _AROUND, 0) : at + _AROUND]:
        if other.backward == one.backward and other.operation.node == one.operation.node:
            yield other


def _second(case: Case, reader: FlowOperation, node: Node) -> Backward | None:
    """The backward that differentiated what a backward gave: nodes of its graph were made in that."""
    calls, number = case.backwards_by_number(), reader.backward or 0
    for later in range(number + 1, number + _NEXT):
        if later in calls and later in case.graph_sizes() and reader.site is not None:
            for one in case.graph(later).nodes:
                made = one.parent is not None and one.parent.name == node.name
                if made and one.site is not None and one.site.is_in_function_of(reader.site):
                    return calls[later]
    return None


def _is_trained(case: Case, flow: RecordedDataflow, inputs: set[int], at: int, second: Backward) -> bool:
    """Whether the second derivative is wanted for anything that the inputs were computed from."""
    wanted = {end.tensor for end in flow.ends if end.target and end.backward == second.number}
    if second.inputs is None:
        wanted = {one.tensor for look in case.optimizer_looks() for one in look.parameters}
        wanted = wanted or {one.number for one in flow.tensors.values() if one.parameter}
    return any(
        not wanted.isdisjoint([tensor, *_learned(one)])
        for tensor in inputs
        for _, one in [(0, None), *trail(flow, tensor, at, _learned, _FAR)]
    )


def _learned(operation: FlowOperation | None) -> list[int]:
    return [] if operation is None else [read.tensor for read in operation.reads if read.requires_grad]


def _name(operation: FlowOperation) -> str:
    return base_name(operation.operation.name).rstrip("_")
