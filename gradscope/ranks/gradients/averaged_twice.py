"""GS767: a loss that is averaged over the ranks before its backward, or divided by their number, whose gradients the
wrapper averages once more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site, Stack, user_frames, user_site
from gradscope.ranks.core.copies import Replicas, replicas_of
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.divided_alone import divided_alone
from gradscope.ranks.gradients.divided_by_all import divided_by_all
from gradscope.ranks.gradients.divided_by_total import divided_by_total
from gradscope.ranks.gradients.divided_copies import divided_copy
from gradscope.ranks.gradients.reduced import DIVIDES, is_by_their_number, is_hooked, meetings_of, meets_nobody
from gradscope.ranks.gradients.sharded_means import sharded_of
from gradscope.store.reader import Recording, load

_SUMS = "c10d.allreduce_."
_MULTIPLIES = frozenset(("mul_", "_foreach_mul_"))
_LOOKS = 2  # backward calls, at least
_WRAPPER = "DistributedDataParallel"


@dataclass(frozen=True, slots=True)
class _Divided:
    """A loss of all ranks, divided: under which stack, and where the ranks had met for it."""

    stack: Stack
    summed: Site | None


def averaged_twice(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A loss that all ranks sum and divide by their number before its backward, under DistributedDataParallel; one of
        each rank's own that is divided by their number, or by a count that all ranks have summed, which FSDP takes too.
    Why:
        A sum in place is nothing to autograd: the gradient of each rank is that of its own loss, divided by the number
        of ranks. The wrapper then averages these gradients, and so divides once more: of two ranks, each step is half
        as large as the loss tells, of eight an eighth.
    Wrong:
        dist.all_reduce(loss.data)
        loss = loss / world_size
        loss.backward()
    Right:
        loss.backward()
        shown = loss.detach() / world_size
        dist.all_reduce(shown)
    Do instead:
        Start the backward from the rank's own loss, and average a detached copy of it for what is shown; multiply a sum
        that is divided by a count of all ranks by their number.
    How it is found:
        A hint. The memory of what a backward started from, or of what that is the quotient of, was summed in the group
        in which the wrapper averages, and then divided by what the source tells to be the number of ranks, in two
        backward calls at least; no Function meets others in that backward, no communication hook is registered, and the
        program multiplies nothing in place after it. The line is that which calls what divides, in the function that
        calls backward. So is a mean of each rank's own that a line divides by the number of ranks itself, and nothing
        that is computed of it: each backward starts there and has a step of its own, the ranks have losses of their
        own, nothing is scaled before the step, nor by the number of ranks in the source but by operators. The same of
        a sum of losses, to which additions alone lead, that is divided by what is summed over all ranks, or multiplied
        by one by that, and was computed without gradients; FSDP may average then, and ranks send each other a few
        numbers alone. Or a sum of selected losses, be it one term of several, by a plain number, which is in three
        backward calls how many all ranks have together, as what the nodes receive tells. Or a parameter which an
        operator divides, by what the source tells to be their number, on its only way to a sum of activations: it is
        trained by SGD at the rate of all others and stays equal, others are not, all ranks have one loss, and nothing
        meets others or scales anything on the way back.
    """
    yield from islice(chain(_by_the_wrapper(ranks), _by_counts(ranks), _of_copies(ranks)), 1)


def _by_counts(ranks: Ranks) -> Iterator[Blame]:
    """Sums of a rank's own losses that are divided by a count of all."""
    wrapped = (one for one in replicas_of(ranks) if one.leaves is None and one.group is not None)
    for name, replicas in chain(((_WRAPPER, one) for one in wrapped), (("FSDP", one) for one in sharded_of(ranks))):
        with load(Path(ranks.rank(replicas.members[0]).path)) as recording:
            site = divided_by_all(ranks, replicas, recording)
        site = site or divided_by_total(ranks, replicas)
        if site is not None:
            world = len(replicas.members)
            yield Blame(
                f"each rank divides the sum of its own losses by a count of all {world:,} ranks, and {name} averages "
                f"the gradients as well: they are 1/{world:,} of those of the mean over all",
                site,
                certain=False,
            )


def _of_copies(ranks: Ranks) -> Iterator[Blame]:
    """Parameters of all that are divided, and that a sum makes whole again."""
    found = divided_copy(ranks)
    if found is not None:
        yield Blame(
            f"{unwrapped(found.leaf)} is the same on {found.world:,} ranks, and divided by their number before a sum "
            "over them, whose backward sums nothing: the sum makes it whole again, and its gradient stays "
            f"1/{found.world:,} of that of the whole",
            found.site,
            certain=False,
            tensor=found.leaf,
        )


def _by_the_wrapper(ranks: Ranks) -> Iterator[Blame]:
    """Losses that are divided by the number of ranks."""
    for replicas in replicas_of(ranks):
        if replicas.leaves is not None or replicas.group is None:
            continue  # what a program sums by hand it may divide by hand
        with load(Path(ranks.rank(replicas.members[0]).path)) as recording:
            found = _found(recording, replicas)
            alone = divided_alone(ranks, replicas, recording) if found is None else None
        if alone is not None:
            yield Blame(
                f"each rank divides its own mean loss by the {len(replicas.members):,} ranks before its backward, and "
                "DistributedDataParallel averages the gradients as well: they are too small by that number",
                alone,
            )
            return
        if found is not None:
            site, summed = found
            world = len(replicas.group[1])
            yield Blame(
                f"the loss is averaged over {world:,} ranks before its backward, and DistributedDataParallel averages "
                f"the gradients as well: they are 1/{world:,} of those of the loss that is shown",
                site,
                () if summed is None else (Related("cause_at", summed, "where the loss is summed over the ranks"),),
            )
            return


def _found(recording: Recording, replicas: Replicas) -> tuple[Site, Site | None] | None:
    """The line in the function that calls backward by which its loss is averaged, and where that is summed."""
    if is_hooked(recording):
        return None
    divided = _divided(recording, replicas)
    if len(divided) < _LOOKS or not all(meets_nobody(recording, number) for number in divided):
        return None
    number, first = min(divided.items())
    if not is_by_their_number(recording, first.stack, len(replicas.members)):
        return None
    started = next((user_site(one.stack) for one in recording.backwards() if one.number == number), None)
    frames = user_frames(first.stack)
    site = next((one for one in frames if one.is_in_function_of(started)), next(iter(frames), None))
    return None if site is None else (site, first.summed)


def _divided(recording: Recording, replicas: Replicas) -> dict[int, _Divided]:
    """By backward: the loss of all ranks that it started from, and that was divided just before; none where the program
    multiplies something in place after a backward."""
    meets = meetings_of(recording, replicas)
    memory = {one.number: one.storage for one in recording.flow_tensors()}
    starts = {one.backward: memory.get(one.tensor, -1) for one in recording.flow_ends() if not one.target}
    summed: dict[int, Site | None] = {}
    divided: dict[int, _Divided] = {}
    begun = False
    for one in recording.flow():
        if one.backward is not None:
            begun = True
            continue
        if begun and _scales(one):
            return {}
        _follow(one, meets, memory, summed, divided)
    return {number: divided[storage] for number, storage in starts.items() if storage in divided}


def _follow(
    one: FlowOperation,
    meets: set[int],
    memory: dict[int, int],
    summed: dict[int, Site | None],
    divided: dict[int, _Divided],
) -> None:
    """Note memory that is summed over the ranks, and what is divided of it; what else writes it makes it another's."""
    read, made = ([memory[at] for at in each if at in memory] for each in ([it.tensor for it in one.reads], one.makes))
    if one.operation.name.startswith(_SUMS):
        summed.update(dict.fromkeys(read if one.run in meets else (), one.site))
        return
    found = next((each for each in read[:1] if each in summed), None)  # by what it divides may be a count of all
    for storage in made:
        divided.pop(storage, None)
        if found is not None and one.operation.grad and base_name(one.operation.name) in DIVIDES:
            divided[storage] = _Divided(one.operation.stack, summed[found])
        if one.operation.writes:
            summed.pop(storage, None)


def _scales(one: FlowOperation) -> bool:
    """Whether the program itself multiplies in place, as it may do to gradients."""
    own = bool(one.operation.stack) and one.operation.stack[0].origin is Origin.USER
    learns = any(each.requires_grad for each in one.reads)
    return own and not learns and base_name(one.operation.name) in _MULTIPLIES
