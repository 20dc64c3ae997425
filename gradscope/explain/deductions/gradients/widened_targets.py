"""A loss of torch's that expands a column of predictions, [N, 1], to the width of its targets, [N, K].

The targets of a critic become that wide where an action's log_prob() is not summed over its parts: a column that it
meets in a sum is broadcast without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.chance import is_density
from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.explain.evidence.trails import trail
from gradscope.model.flow import FlowOperation, Read
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin, Site

_LOSSES, _COMPARES = (
    ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"),
    ("sub", "mse_loss", "smooth_l1_loss", "huber_loss"),
)
_EXPANDS = "broadcast_tensors"
_FAR = 64  # tensors that targets are made of, at most


@dataclass(frozen=True, slots=True)
class WidenedTarget:
    """A loss that compares predictions with several targets each; and the density that made these as wide."""

    operation: FlowOperation
    column: tuple[int, ...]
    targets: tuple[int, ...]
    density: Site | None

    @property
    def shapes(self) -> str:
        """What the loss was given."""
        return f"{list(self.column)} against {list(self.targets)}"


def widened_targets(flow: RecordedDataflow) -> Iterator[WidenedTarget]:
    """Losses that were given a column that requires grad, and targets with more columns."""
    for at, operation in enumerate(flow.operations):
        if operation.backward is None and len(operation.reads) == 2 and _is_a_loss(operation.operation):
            found = _widened(flow, at, operation)
            if found is not None:
                yield found


def _is_a_loss(operation: Operation) -> bool:
    return base_name(operation.name) in _COMPARES and _is_in_a_loss(operation)


def _is_in_a_loss(operation: Operation) -> bool:
    return any(one.function in _LOSSES and one.origin is Origin.TORCH for one in operation.stack)


def _widened(flow: RecordedDataflow, at: int, operation: FlowOperation) -> WidenedTarget | None:
    (prediction, is_expanded), (target, _) = (_before_expanding(flow, at, read) for read in operation.reads)
    column, wide = flow.shape(prediction.tensor), flow.shape(target.tensor)
    if not is_expanded or not prediction.requires_grad or target.requires_grad:
        return None
    if len(column) != 2 or column[1] != 1 or len(wide) != 2 or wide[0] != column[0] or min(wide) < 2:
        return None
    return WidenedTarget(operation, column, wide, _density(flow, target.tensor, wide, at))


def _before_expanding(flow: RecordedDataflow, at: int, read: Read) -> tuple[Read, bool]:
    """What the loss was given for what its operator reads, and whether it has expanded that."""
    maker = flow.maker(read.tensor, at)
    made = None if maker is None else flow.operations[maker]
    stack = () if made is None or not made.reads or not _is_in_a_loss(made.operation) else made.operation.stack
    if made is not None and any(site.function == _EXPANDS for site in stack):
        return made.reads[0], flow.shape(made.reads[0].tensor) != flow.shape(read.tensor)
    return read, False


def _density(flow: RecordedDataflow, target: int, wide: tuple[int, ...], before: int) -> Site | None:
    """The line that asked for a density of each part, which has met a column on its way to the targets."""
    column = (wide[0], 1)
    met = False

    def of_that_width(operation: FlowOperation) -> list[int]:
        return [one.tensor for one in operation.reads if flow.shape(one.tensor) == wide]

    for _, operation in trail(flow, target, before, of_that_width, _FAR):
        if is_density(operation.operation.stack):
            return operation.site if met else None
        met = met or any(flow.shape(one.tensor) == column for one in operation.reads)
    return None
