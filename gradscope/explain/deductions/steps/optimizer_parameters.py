"""Which parameters optimizers hold, compared with those that the loss reached."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import PurePath

from gradscope.explain.deductions.lines.graph_cuts import birth
from gradscope.explain.deductions.steps.set_aside import set_aside
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow, is_optimizer
from gradscope.explain.evidence.optimizers import idle_optimizers
from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.site import Origin
from gradscope.store.asked import kept

_DISTRIBUTED = "distributed"  # a folder of torch
_NEVER = (-1, -1)
NAMELESS = "leaf"  # what a leaf is called that no module and no global variable names


@dataclass(frozen=True, slots=True)
class OptimizerParameters:
    """Parameters by number: those that optimizers hold which step, and the others that get gradients.

    `is_whole` is False where an optimizer never steps: it holds the others, it may be.
    """

    held: frozenset[int]
    others: tuple[FlowTensor, ...]
    unread: frozenset[int]  # held, and never read by an operator on the way to a loss, or not since a double's are
    is_whole: bool = True

    @property
    def unheld(self) -> tuple[FlowTensor, ...]:
        """Those that get gradients and are in no optimizer."""
        return self.others if self.is_whole else ()

    @property
    def nameless(self) -> tuple[FlowTensor, ...]:
        """Those that no module registers: its parameters() did not list them for the optimizer."""
        return tuple(one for one in self.unheld if one.leaf in (None, NAMELESS))

    @property
    def named(self) -> tuple[FlowTensor, ...]:
        """Those that a module registers, or a variable holds."""
        return tuple(one for one in self.unheld if one.leaf not in (None, NAMELESS))

    @property
    def has_named_others(self) -> bool:
        """Whether an optimizer that steps does not hold something with a name."""
        return any(one.leaf not in (None, NAMELESS) for one in self.others)


@kept
def optimizer_parameters(case: Case) -> OptimizerParameters:
    """Compare what optimizers hold with what backward calls reached. Empty when no optimizer ever stepped."""
    flow = dataflow(case)
    held = frozenset(parameter.tensor for look in case.optimizer_looks() for parameter in look.parameters)
    if not held:
        return OptimizerParameters(held, (), held)
    reached = dict.fromkeys(leaf.tensor for leaf in case.leaf_gradients())
    others = (flow.tensors[one] for one in reached if one in flow.tensors and one not in held)
    trained = (one for one in others if one.parameter and not is_updated_by_hand(case, one))
    own = tuple(named_in_graphs(case, one) for one in trained if not _is_put_together(case, one))
    unread = frozenset(one for one in held if not flow.is_used(one))
    return OptimizerParameters(held, own, unread | set_aside(case, own), not idle_optimizers(case))


def named_in_graphs(case: Case, tensor: FlowTensor) -> FlowTensor:
    """With the name that a graph gives it. Its own is that of the step that made it, which a model that first runs in a
    later one has not named yet."""
    if tensor.leaf not in (None, NAMELESS):
        return tensor
    sizes = case.graph_sizes()
    seen = (one for one in case.leaf_gradients() if one.tensor == tensor.number and one.backward in sizes)
    first = next(seen, None)
    nodes = () if first is None else case.graph(first.backward).nodes
    return replace(tensor, leaf=next((one.leaf for one in nodes if first and one.id == first.node), tensor.leaf))


def _is_put_together(case: Case, tensor: FlowTensor) -> bool:
    """Whether torch.distributed made it for a forward, from the parts of a parameter that the optimizer of each rank
    holds, as FSDP2 does."""
    made_by = takewhile(lambda site: site.origin is Origin.TORCH, birth(case, tensor.number))
    return any(_DISTRIBUTED in PurePath(site.file).parts for site in made_by)


def is_updated_by_hand(case: Case, tensor: FlowTensor) -> bool:
    """Whether the program itself writes to it once a forward has used it, as a hand-written update does, or a
    collective that brings what another rank's optimizer made of it."""
    flow, last = dataflow(case), _last_writes(case).get(tensor.storage, _NEVER)
    uses = (flow.operations[at] for at in flow.readers.get(tensor.number, ()))
    return any(_place(use) <= last and _is_use(use, tensor.number) for use in uses)


def _is_use(operation: FlowOperation, tensor: int) -> bool:
    """Whether an operator of a forward reads a tensor that requires grad."""
    is_forward = operation.backward is None and operation.operation.grad
    return is_forward and any(read.tensor == tensor and read.requires_grad for read in operation.reads)


@kept
def _last_writes(case: Case) -> dict[int, tuple[int, int]]:
    """By memory, the place of the last operator outside of backwards and optimizers that writes to it in place; the
    collectives that run without gradients are in the recorded flow alone."""
    tensors, last = dataflow(case).tensors, dict[int, tuple[int, int]]()
    for operation in case.flow():
        if operation.backward is None:
            read = {one.tensor for one in operation.reads}
            written = [tensors[one].storage for one in operation.makes if one in read and one in tensors]
            if written and not is_optimizer(operation):
                last.update(dict.fromkeys(written, _place(operation)))
    return last


def _place(operation: FlowOperation) -> tuple[int, int]:
    return operation.run, operation.position


def scatters(case: Case, backward: int) -> bool:
    """Whether a backward adds gradients up over ranks and gives each its part: FSDP takes them away from leaves."""
    inside = (block for block in case.blocks() if block.backward == backward)
    return any("reduce_scatter" in operation.name for block in inside for operation in block.operations)
