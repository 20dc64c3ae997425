"""GS788: an optimizer that holds parameters as they were gathered for a forward, and not each rank's part of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.model.flow import GradientState, HeldParameter, OptimizerLook
from gradscope.model.site import Site
from gradscope.model.training import FORWARD, MADE, STEP, ZERO_GRAD, Interval
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.replicas.parted import made_before_parting
from gradscope.store.reader import Recording, load

_SCATTERS = ("c10d._reduce_scatter_base_", "c10d.reduce_scatter_", "_c10d_functional.reduce_scatter")
_STEPS = 2  # at least


def holds_what_was_gathered(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        An optimizer that was made after a forward of a model under fully_shard, or its unshard(), had gathered
        parameters, and before they were parted again; one that was made before fully_shard parted them, or is given
        parameters that were listed before that.
    Why:
        The optimizer holds the gathered tensors. FSDP takes their gradients, adds them up over the ranks and gives each
        rank its part, in a tensor that the optimizer does not know: its steps leave these parameters as they are.
        After a forward the root of a model stays gathered for the backward that comes. fully_shard() itself puts other
        parameters in the place of those that it parts.
    Wrong:
        model(example)
        optimizer = AdamW(model.parameters())
    Right:
        optimizer = AdamW(model.parameters())
        model(example)
    Do instead:
        List parameters and make the optimizer after fully_shard() and before the first forward, or call
        model.reshard() before it is made.
    How it is found:
        Parameters that an optimizer holds and a backward accumulates into, where gradients are scattered in this
        backward, and that have no gradient at any step, though none is cleared in between; others have one. Or all that
        an optimizer holds was parted by fully_shard(), and none of it has a gradient at any step; or a part of it,
        where all optimizers hold too few others for those that a backward reaches. The line is that by which the
        program comes to make the optimizer, in the function that comes to fully_shard() as well, or lists what it is
        given.
    """
    inside = (one for one in ranks.collectives if one.inside and one.operator.startswith(_SCATTERS))
    if next(inside, None) is None or not ranks.ranks:
        return
    with load(Path(ranks.ranks[0].path)) as recording:
        early = made_before_parting(recording)
        if early is not None:
            what = "them" if early.holds_others else "the model"
            yield Blame(
                f"the optimizer holds {early.held} parameters as they were before fully_shard() put each rank's part "
                f"in their place: none of them is given a gradient, and its steps change nothing of {what}",
                early.made,
                (Related("cause_at", early.parted, "where the parameters are parted"),),
                certain=False,
            )
            return
        for optimizer, held in _without_gradients(recording).items():
            site, forward = _made(recording, optimizer)
            more = f" and {len(held) - 1:,} more" if len(held) > 1 else ""
            yield Blame(
                f"the optimizer holds {held[0].name}{more} as gathered for a forward: FSDP gives the gradients to each "
                "rank's part, and its steps change nothing of them",
                site,
                () if forward is None else (Related("called_at", forward, "the forward before it was made"),),
                certain=False,
                tensor=held[0].name,
            )


def _without_gradients(recording: Recording) -> dict[int, list[HeldParameter]]:
    """By optimizer: the parameters that were accumulated into before each step, and never had a gradient at one."""
    accumulated: dict[int, set[int]] = defaultdict(set)
    for leaf in recording.leaf_gradients():
        accumulated[leaf.backward].add(leaf.tensor)
    cleared = {number for interval in recording.intervals() for number in _cleared(interval)}
    seen: dict[tuple[int, int], list[tuple[OptimizerLook, HeldParameter]]] = defaultdict(list)
    for look in recording.optimizer_looks():
        for held in look.parameters:
            seen[look.optimizer, held.tensor].append((look, held))
    trained = {look.optimizer for looks in seen.values() for look, held in looks if held.state is GradientState.VALUES}
    found: dict[int, list[HeldParameter]] = defaultdict(list)
    for (optimizer, tensor), looks in seen.items():
        calls = [look.backward for look, _ in looks if look.backward is not None and look.backward not in cleared]
        reached = [call for call in calls if tensor in accumulated.get(call, ())]
        never = all(held.state is GradientState.NONE for _, held in looks)
        if optimizer in trained and never and len(reached) >= _STEPS:
            found[optimizer].append(looks[-1][1])
    return found


def _cleared(interval: Interval) -> Iterator[int]:
    """The backward call after which gradients were cleared before a step."""
    kinds = [call.kind for call in interval.calls]
    step = kinds.index(STEP) if STEP in kinds else len(kinds)
    if interval.backward is not None and ZERO_GRAD in kinds[:step]:
        yield interval.backward - 1


def _made(recording: Recording, optimizer: int) -> tuple[Site | None, Site | None]:
    """Where an optimizer was made, and the last forward before that."""
    forward: Site | None = None
    for interval in recording.intervals():
        for call in interval.calls:
            if call.kind is MADE and call.optimizer == optimizer:
                return call.site, forward
            forward = call.site if call.kind is FORWARD else forward
    return None, None
