"""The parameters that an optimizer holds, and whose gradient nobody has seen."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.model.flow import GradientState, HeldParameter, OptimizerLook
from gradscope.store.asked import kept


@dataclass(frozen=True, slots=True)
class SilentParameter:
    """A parameter whose gradient was never seen at an optimizer's steps."""

    held: HeldParameter
    look: OptimizerLook
    zero: bool = False


@kept
def silent_tensors(case: Case) -> frozenset[int]:
    """The parameters whose gradient no look at an optimizer has seen."""
    return frozenset(one.held.tensor for one in silent_parameters(case))


@kept
def silent_parameters(case: Case) -> tuple[SilentParameter, ...]:
    """The parameters that an optimizer holds and whose gradient was None, or zero, at every look."""
    states: dict[tuple[int, int], list[tuple[OptimizerLook, HeldParameter]]] = defaultdict(list)
    for look in case.optimizer_looks():
        for parameter in look.parameters:
            states[look.optimizer, parameter.tensor].append((look, parameter))
    found = []
    for seen in states.values():
        kinds = {held.state for _, held in seen}
        if kinds == {GradientState.NONE} or (kinds <= {GradientState.NONE, GradientState.ZERO} and len(seen) > 1):
            look, held = seen[-1]
            found.append(SilentParameter(held, look, GradientState.ZERO in kinds))
    return tuple(found)
