"""GS917: a parameter that is frozen and then replaced by one that learns, as every new nn.Parameter does."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.states.frozen_and_replaced import FrozenAndReplaced, frozen_and_replaced
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.aliases import ALIAS
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related
from gradscope.model.flow import GradientState
from gradscope.model.site import Site, user_site


def replaced_after_freeze(case: Case) -> Iterator[Cause]:
    """What it flags: a parameter that is frozen and then replaced by a new nn.Parameter, which an optimizer moves.

    Why: requires_grad is of the tensor, not of its name. The one that was frozen is gone with the assignment, and a new
    nn.Parameter requires grad: a kernel that was to be fixed is trained, and the loss falls all the same.

    Wrong:
        self.weight.requires_grad = False
        self.weight = nn.Parameter(patterns)

    Right:
        self.weight = nn.Parameter(patterns, requires_grad=False)

    Do instead: freeze the new parameter, or register_buffer() what is not to learn.

    How it is found: one statement freezes a parameter by its name, and a later one of the same row puts an nn.Parameter
    under that name which is told nothing about requires_grad. Before and between them nothing there reads the old
    one's numbers, and no other line freezes what is called so. The parameter that the second line made, before all
    backward calls, is held by an optimizer that found a gradient of it. A hint.
    """
    for one in frozen_and_replaced(case):
        moved = _moved(case, one)
        if moved:
            yield Cause(
                f"{several(moved)} learn{'s' * (len(moved) == 1)}: what was frozen before is the tensor that this line "
                "replaces, and a new nn.Parameter requires grad",
                one.replaced,
                (Related("cause_at", one.frozen, "freezes what goes"),),
                certain=False,
                tensor=moved[0],
                weight=len(moved),
            )


def _moved(case: Case, one: FrozenAndReplaced) -> tuple[str, ...]:
    """The names of the parameters that a line made and that an optimizer found gradients of."""
    held = [each for look in case.optimizer_looks() for each in look.parameters if each.state is GradientState.VALUES]
    named = [each for each in held if each.name.rpartition(".")[2] == one.name]
    made = [each.name for each in named if _is_made_at(case, each.tensor, one.replaced)]
    return tuple(dict.fromkeys(made))


def _is_made_at(case: Case, tensor: int, site: Site) -> bool:
    """Whether a parameter was made on a line, before all backward calls, of a tensor: nn.Parameter(kernel)."""
    flow = dataflow(case)
    first = next((at for at, one in enumerate(flow.operations) if one.backward is not None), len(flow.operations))
    makers = (flow.operations[at].operation for at in flow.makers.get(tensor, ()) if at < first)
    places = (user_site(maker.stack) for maker in makers if maker.name == ALIAS)
    heads = (source_lines.head(case, place) for place in places if place is not None)
    return any((head.file, head.line) == (site.file, site.line) for head in heads)
