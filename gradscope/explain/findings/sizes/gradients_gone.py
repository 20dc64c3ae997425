"""GS871: a training that has stopped: no gradient is left, and the loss is far from zero."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.graph_cuts import reached
from gradscope.explain.deductions.lines.module_builds import chosen_at
from gradscope.explain.deductions.numbers.gone_gradients import are_gone, greatest_gradients
from gradscope.explain.deductions.numbers.margins import margin_reached
from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.deductions.steps.step_lines import rate_line, step_line
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.words import line_of
from gradscope.explain.findings.sizes.gradient_magnitudes import FLAT
from gradscope.model.finding import Related
from gradscope.model.graph import Graph, Node
from gradscope.model.site import Site
from gradscope.model.size import LeafSize

_GONE = 1e-6  # of the greatest gradient that a leaf had
_LOOKS = 5
_LATE = 8  # losses at the end
_LEFT, _NO_BETTER, _UNLIKE = 0.1, 0.95, 0.02  # of the first loss; and how much losses of batches differ
_TURNS = 1 / 4  # of the steps of the first half
_SOON, _TIMES = 8, 1.5  # backward calls, in which most weights have become so many times as large

_GREW = f"weights grew by half and more in the first {_SOON} steps"

Looks = list[dict[str, LeafSize]]


def gradients_gone(case: Case) -> Iterator[Cause]:
    """What it flags: every gradient has vanished, and the loss stays where it is, far from zero.

    Why: a sigmoid, a softmax or a clamp whose input is far out gives the derivative 0, and points that have all become
    the same have no direction in which to part. A large step does that in a moment, and nothing undoes it: a weight
    without a gradient does not come back.

    Wrong:
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        loss = triplet_loss(model(x), labels, margin=0.5)    # 0.5, from some step on

    Right:
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)

    Do instead: lower the learning rate or warm it up, clip the gradients, and give the loss logits where there is one
    that takes them, so that no saturated function stands before it.

    How it is found: the gradients of all leaves, measured in the steps 0, 1, 2, 4, 8, ...: the last are less than a
    millionth of what each has been. The loss is more than a tenth of the first one then; and either it is no better
    than that, after going up and down as losses of batches do, or it still differs from batch to batch: no minimum
    explains either. Or the last losses are the margin that a hinge adds, to
    four digits, and less than a thousandth of each gradient is left. The line is the one that gives
    the rate, where weights have grown by half in eight steps; else that of the operator nearest to the loss that can
    saturate, or of the hinge.
    """
    looks = samples_of(case)
    margin = margin_reached(case)
    if margin is not None:
        yield _collapsed(case, looks, *margin)
        return
    if len(looks) < _LOOKS or not are_gone(looks, _GONE) or not _stays(case, looks):
        return
    size = max(looks[0].values(), key=lambda one: one.gradient)
    last = next(iter(looks[-1].values())).backward
    left = _largest(looks)
    rest = f"at most {left:.0e} of what each has been is left" if left else "all of them are exactly zero"
    lost = f"every gradient is gone in backward {last}: {rest}"
    told = f"{lost}, and the loss stays at {list(case.losses().values())[-1]:.3g}"
    step = step_line(case, size.leaf) if _began_with_leaps(looks) else None
    rate = None if step is None else rate_line(case, step)
    if rate is not None:
        yield Cause(f"{told}; {_GREW}", rate, (Related("called_at", step, "the step"),), certain=False, backward=last)
        return
    graph = case.graph(last)
    node = _saturated(graph)
    if node is not None:
        site, called = chosen_at(case, node)
        why = f"all of the loss goes through {node.name}, which gives none back where it saturates"
        yield Cause(f"{told}; {why}", site, called, node=node.id, certain=False, backward=last)


def _collapsed(case: Case, looks: Looks, margin: float, hinge: Site) -> Cause:
    step = step_line(case, next(iter(looks[0]))) if _began_with_leaps(looks) else None
    rate = None if step is None else rate_line(case, step)
    margin_of = f"the margin {margin:g} of {line_of(hinge, rate)}"
    told = f"the loss has become {margin_of}: what that is added to is zero, for all"
    if rate is None:
        return Cause(told, hinge, certain=False)
    related = (Related("called_at", hinge, "the margin"), Related("called_at", step, "the step"))
    return Cause(f"{told}; {_GREW}", rate, related, certain=False)


def _largest(looks: Looks) -> float:
    """The largest part that is left of a gradient."""
    greatest = greatest_gradients(looks)
    return max(size.gradient / greatest[size.leaf] for size in looks[-1].values() if greatest[size.leaf])


def _stays(case: Case, looks: Looks) -> bool:
    """Whether losses are far from zero since, and no minimum explains that: it would be one for every batch."""
    losses = case.losses()
    first, at = next(iter(losses.values()), 0.0), next(iter(looks[-1].values())).backward
    late = list(losses.values())[-_LATE:]
    if at not in losses or len(losses) < 2 * _LATE or min(abs(losses[at]), *map(abs, late)) < _LEFT * abs(first):
        return False
    if max(late) - min(late) > _UNLIKE * abs(max(late, key=abs)):
        return True
    return min(late) >= _NO_BETTER * first > 0 and _goes_up_and_down(list(losses.values()))


def _goes_up_and_down(losses: list[float]) -> bool:
    """Whether losses first went up and down, as those of batches do: fitted as a whole they go down to a minimum."""
    changes = [after - before for before, after in pairwise(losses[: len(losses) // 2])]
    turns = sum(one * other < 0 for one, other in pairwise(changes))
    return turns >= _TURNS * len(changes) > 0


def _began_with_leaps(looks: Looks) -> bool:
    """Whether most weights have grown by half in the first steps."""
    soon = [one for one in looks if next(iter(one.values())).backward <= _SOON][-1]
    sizes = [(soon[name].weight, size.weight) for name, size in looks[0].items() if name in soon and size.weight]
    grown = [after for after, before in sizes if after >= _TIMES * before]
    return bool(grown) and 2 * len(grown) >= len(sizes)


def _saturated(graph: Graph) -> Node | None:
    """The node nearest to the loss that can saturate, and through which every way from the loss to a leaf goes."""
    leaves = [node.id for node in graph.nodes if node.accumulates]
    for node in sorted(graph.nodes, key=lambda one: one.id if one.order is None else one.order):
        can_saturate = node.name.startswith(tuple(f"{kind}Backward" for kind in FLAT))
        if can_saturate and reached(graph, without={node.id}).isdisjoint(leaves):
            return node
    return None
