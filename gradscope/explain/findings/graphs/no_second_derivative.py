"""GS819: an operator of torch's whose derivative cannot be differentiated again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.operation import Operation, base_name

_REFUSED = re.compile(r"derivative for '?(?:aten::)?(\w+)'? is not implemented")
_BACKWARD = "_backward"
_ATTENDS = "_scaled_dot_product"
_PLAIN_ATTENTION = """compute attention where second derivatives are taken with
torch.nn.attention.sdpa_kernel(SDPBackend.MATH), which is made of operators that have them"""


def no_second_derivative(case: Case) -> Iterator[Cause]:
    """What it flags: a backward through the derivative of an operator that has no derivative itself.

    Why: fused operators (flash attention, some losses and kernels of cuDNN) come with a backward of their own, which
    torch cannot differentiate. Forces, gradient penalties and Hessians need that.

    Wrong:
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        (force,) = torch.autograd.grad(energy(y), positions, create_graph=True)
        (force - target).square().mean().backward()

    Right:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v)

    Do instead: use the same in operators that can be differentiated twice where the second derivative is wanted.

    How it is found: torch names the operator that it has no derivative for. The line is where the operator ran whose
    backward it is, the last one before.
    """
    for call in case.failed():
        found = _REFUSED.search(call.exception or "")
        operation = _last(case, found.group(1)) if found is not None else None
        if found is not None and operation is not None:
            forward = base_name(operation.name)
            yield Cause(
                f"{forward} has no second derivative, which backward {call.number} asks for",
                operation.site,
                (Related("second_backward_at", call.site),),
                fails=any(failure.backward == call.number for failure in case.failures()),
                advice=_PLAIN_ATTENTION if forward.startswith(_ATTENDS) else "",
                op=operation.name,
                backward=call.number,
            )


def _last(case: Case, refused: str) -> Operation | None:
    """The last operator of a forward that is refused, or whose backward is."""
    stem = refused.removesuffix(_BACKWARD)
    names = {refused, stem, f"{stem}_forward"}
    for block in reversed(case.blocks()):
        for operation in reversed(block.operations) if block.backward is None else ():
            if base_name(operation.name) in names and operation.grad:
                return operation
    return None
