"""What torch.func's transforms do not see, or do not show to autograd.

Parameters that a function under torch.func.grad reads although functional_call put others in the module's place; and
derivatives that autograd is asked for under vmap.
"""

from __future__ import annotations

from gradscope.explain.deductions.steps.optimizer_parameters import NAMELESS, is_updated_by_hand, optimizer_parameters
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.graphs.transforms import pushes
from gradscope.model.flow import FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack, user_site

_SUBSTITUTES = ("functional_call", "_functional_call")
_VALUES_ONLY = ("detach", "alias")
_VMAP = "torch/_functorch/vmap.py"
TAKE_FUNC_GRAD = """take torch.func.grad of a function of the parameters there, with torch.func.functional_call for the
module"""


def hidden_from_transforms(case: Case) -> tuple[FlowTensor, ...]:
    """Those that have no name in any module, in the order in which they were read; frozen ones are meant."""
    flow, found = dataflow(case), dict[int, FlowTensor]()
    held = optimizer_parameters(case).held
    for operation in flow.operations if case.transforms() else ():
        forward = operation.backward is None and operation.operation.grad
        if forward and base_name(operation.operation.name) not in _VALUES_ONLY:
            leaves = (one.tensor for one in operation.reads if one.leaf and one.requires_grad)
            read = [flow.tensors[tensor] for tensor in leaves if tensor in flow.tensors]
            nameless = [
                one for one in read if one.parameter and one.leaf in (None, NAMELESS) and one.number not in held
            ]
            if nameless and _is_substituted(operation.operation.stack):
                found.update((one.number, one) for one in nameless)
    return tuple(one for one in found.values() if not is_updated_by_hand(case, one))


def mapped_at(stack: Stack) -> Site | None:
    """The user's line that calls vmap, around which a stack's call runs."""
    at = next((at for at, site in enumerate(stack) if site.file.replace("\\", "/").endswith(_VMAP)), None)
    return None if at is None else user_site(stack[at:])


def _is_substituted(stack: Stack) -> bool:
    """Whether functional_call ran the module, under a transform."""
    within = next((at for at, site in enumerate(stack) if pushes(site)), 0)
    return any(site.function in _SUBSTITUTES for site in stack[:within])
