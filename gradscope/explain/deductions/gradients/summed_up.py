"""Products of which nothing but a sum is used: what each factor belongs to is lost then."""

from __future__ import annotations

from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name

_TERMS, _FAR = ("add", "sub", "neg"), 16  # what a product may go through on its way to one number


def is_summed_up(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    """Whether all that is made of an operator's result is one number, its sum or its mean; before that it may be a
    term of a sum itself, or be given a sign."""
    waiting, seen, numbers = list(operation.makes), set(operation.makes), 0
    while waiting and len(seen) < _FAR:
        readers = [flow.operations[at] for at in flow.readers.get(waiting.pop(), ())]
        forward = [one for one in readers if one.backward is None]
        if not forward:
            return False
        for one in forward:
            name = base_name(one.operation.name)
            shapes = [flow.tensors[made].type.shape if made in flow.tensors else (0,) for made in one.makes]
            if name in _TERMS and all(shapes):
                waiting += [made for made in one.makes if made not in seen]
                seen.update(one.makes)
            elif name in ("sum", "mean") and not any(shapes):
                numbers += 1
            else:
                return False
    return numbers > 0 and not waiting
