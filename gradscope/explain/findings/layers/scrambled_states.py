"""GS851: states of a recurrent layer whose samples a bare view mixes."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import RESHAPES
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_SAME_ORDER = ("slice", "clone", "contiguous", "alias", "native_dropout", "mul", "div", "relu", "tanh")
_RECURRENT = ("RNN", "GRU", "LSTM")
_STEPS = 3


def states_scrambled(case: Case) -> Iterator[Cause]:
    """What it flags: what a recurrent layer gives, with the batch as second dimension, made a row for each sample by a
    view alone.

    Why: the last states are [layers * directions, batch, hidden], whatever batch_first says. A view keeps the order in
    memory: seen as [batch, directions * hidden], a row is put together from states of several samples.

    Wrong:
        _, state = self.rnn(x)
        return state.view(x.size(0), -1)

    Right:
        _, state = self.rnn(x)
        return state.transpose(0, 1).flatten(1)

    Do instead: transpose(0, 1) before the view, or torch.cat(tuple(state), 1).

    How it is found: a view in the first steps takes what nn.RNN, nn.GRU or nn.LSTM made, its second dimension becomes
    the first, and nothing has swapped the two: no layer with batch_first has as many steps as there are states.
    """
    flow = dataflow(case)
    said: set[Site | None] = {None}
    swapped = _swapped(flow)
    for at, operation in enumerate(flow.operations):
        if operation.site not in said and operation.backward is None and _mixes(flow, at, operation):
            if tuple(flow.shape(operation.reads[0].tensor)[:2]) in swapped:
                continue  # it may be what a layer with batch_first gives for all steps
            said.add(operation.site)
            message = "this view takes the layers' or directions' states for rows of samples: it mixes the samples"
            yield Cause(message, operation.site, op=operation.operation.name)


def _swapped(flow: RecordedDataflow) -> set[tuple[int, ...]]:
    """How many steps and samples layers with batch_first have swapped: they do so with what they are given, and do the
    same in place with what they give, which nobody records."""
    return {
        tuple(flow.shape(operation.makes[0])[:2])
        for operation in flow.operations
        if base_name(operation.operation.name) == "transpose" and operation.makes and _is_recurrent(operation)
    }


def _mixes(flow: RecordedDataflow, at: int, operation: FlowOperation) -> bool:
    """Whether [several, batch, features] becomes [batch, ...] by a view alone."""
    if base_name(operation.operation.name) not in RESHAPES or not operation.makes or _is_recurrent(operation):
        return False
    before, after = flow.shape(operation.reads[0].tensor), flow.shape(operation.makes[0])
    if len(before) != 3 or before[0] < 2 or before[1] < 2 or before[0] == before[1]:
        return False
    rows = after[:1] == before[1:2] and len(after) > 1 and after[1] > 1
    return rows and _is_given_by_a_layer(flow, operation.reads[0].tensor, at)


def _is_given_by_a_layer(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether a recurrent layer made it, but for parts and copies in the same order."""
    for _ in range(_STEPS):
        made = flow.maker(tensor, before)
        if made is None:
            return False
        operation = flow.operations[made]
        if _is_recurrent(operation):
            return base_name(operation.operation.name) not in ("transpose", "permute", "t")
        if base_name(operation.operation.name) not in _SAME_ORDER:
            return False
        tensor, before = operation.reads[0].tensor, made
    return False


def _is_recurrent(operation: FlowOperation) -> bool:
    """Whether it ran in one of torch's recurrent layers."""
    module = operation.operation.module
    return module is not None and module.module_class in _RECURRENT
