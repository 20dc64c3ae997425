"""GS895: a tensor that is added to itself, where a branch was to be added to what it branched off from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.trails import trail
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_TIMES = 3
_FAR = 8  # tensors between the weights and the sum, at most
_LEARNED = ("addmm", "mm", "bmm", "convolution", "_scaled_dot_product_flash_attention_for_cpu")
_BETWEEN = ("relu", "gelu", "silu", "tanh", "sigmoid", "leaky_relu", "native_dropout", "mul", "div", "view", "t")
_NORMS = ("native_layer_norm", "native_batch_norm", "native_group_norm", "_unsafe_view", "transpose", "permute")


def added_to_itself(case: Case) -> Iterator[Cause]:
    """What it flags: a module adds what a layer gave to the same tensor.

    Why: x + x is 2 * x. A skip connection adds the layer's input; where the name of the input was given to the result
    before, or what is to be skipped is kept one line too late, nothing is skipped: the gradient goes through every
    layer, and each sum doubles it.

    Wrong:
        x = self.layer(x)
        return x + x

    Right:
        return x + self.layer(x)

    Do instead: keep the input under its own name, before the layer is called; 2 * x, where that is meant.

    How it is found: in three steps or more, an operator of a module adds a tensor to itself, which a layer with weights
    has computed, up to an activation or a normalisation. A hint.
    """
    flow = dataflow(case)
    times: Counter[Site] = Counter()
    for at, operation in enumerate(flow.operations):
        site = operation.site
        if site is not None and site.origin is Origin.USER and _doubles(operation) and _is_computed(flow, at):
            times[site] += 1
    for site, count in times.items():
        if count >= _TIMES:
            yield Cause("this adds a tensor to itself: no other way leads around the layer", site, certain=False)


def _doubles(operation: FlowOperation) -> bool:
    is_sum = base_name(operation.operation.name) in ("add", "add_") and operation.operation.module is not None
    tensors = [one.tensor for one in operation.reads if one.requires_grad]
    return is_sum and len(tensors) == 2 and len({*tensors}) == 1


def _is_computed(flow: RecordedDataflow, at: int) -> bool:
    """Whether what an operator reads comes from a layer with weights, up to an activation or a normalisation."""
    made = trail(flow, flow.operations[at].reads[0].tensor, at, _between, _FAR)
    return any(base_name(one.operation.name) in _LEARNED for _, one in made)


def _between(operation: FlowOperation) -> list[int]:
    name = base_name(operation.operation.name)
    return [one.tensor for one in operation.reads[:1] if name in (*_BETWEEN, *_NORMS)]
