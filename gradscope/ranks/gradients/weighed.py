"""GS783: losses that each rank divides by a number of its own, where ranks have much unlike numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path

from gradscope.functions.source import called_name
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site
from gradscope.ranks.core.copies import SEVERAL, Replicas, replicas_of
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.counts_apart import Counts, counts_apart
from gradscope.ranks.gradients.divided_gradients import Divided, divided_gradients
from gradscope.ranks.gradients.sharded_means import puts_together, sharded_of, unlike_gradients
from gradscope.ranks.gradients.shown import sites_left_unused, sites_that_show
from gradscope.ranks.gradients.single_losses import weighed_apart
from gradscope.ranks.meeting.stragglers import LEAST, given_bytes, times_as_much
from gradscope.ranks.source.deciding import given_by_objects, origin
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.meetings import without_meetings
from gradscope.ranks.source.ways import is_collective, ways_of
from gradscope.store.reader import Recording, load

_BACKWARD = "backward"
_DIVIDES = "aten.div"
_MOSTLY = 0.8  # of the steps
_SHARES = ("broadcast_", "broadcast", "allgather_into_tensor_coalesced_")  # that send what a model has
_OWN = "a number of a rank's own"
_SUM = "sum"
_COUNTS = frozenset(("count_nonzero", "numel"))
_MASKS = ("mask", "valid")  # stand in what is called so


def means_of_means(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A loss that each rank divides by its own number of tokens, where one rank is given much more than another in
        most steps, and gradients are averaged, by DistributedDataParallel or FSDP.
    Why:
        DistributedDataParallel and FSDP give the gradient of each rank the same weight. The mean of means is not that
        over all tokens: those of the rank that has few of them weigh more, in each step.
    Wrong:
        loss = total_loss / (labels != -100).sum()
    Right:
        count = (labels != -100).sum()
        dist.all_reduce(count)
        loss = total_loss * world_size / count
    Do instead:
        Sum the numbers over the ranks, divide by that of all, and multiply by the number of ranks.
    How it is found:
        The line that divides the loss which a backward started from, by a count of its own that goes back to a mask or
        a comparison in the source, and in which other ranks have no part; nothing was exchanged on the way to most
        backward calls but losses, as they are to be shown. One rank's graphs are given one and a half times as many
        bytes as another's in all, and more in four of five steps. Or, where the loss is the quotient, what the division
        passes back is one and a half times as large on one rank as on another in each of five looks or more, as the
        number is smaller, or twice as large on one, whichever this is: then ranks may also exchange what leads nowhere
        on one of them, which neither reads a number of it nor writes anything with it. As a hint, of batches that are
        padded to one length: in the first three looks, the gradients in the graphs of a loss of classes are twice as
        large on one rank as on another, or more, in all nodes that hold a row for each single loss. A hint, too, is a
        sum or mean of which the loss is made, in whatever way it is scaled, where one single loss weighs one and a half
        times as much on one rank as on another in each of five looks: by a tensor that is counted of the rank's own
        data and went through no model or collective, by the length of a selection, or by whole numbers that change; no
        gradient is given a weight before ranks meet. So are gradients that a program divides by such a tensor before it
        averages them, where masks select one and a half times as much on one rank as on another in ten backward calls
        one after another, or, where no mask selects, graphs are given unlike numbers of bytes as above.
    """
    every = [*replicas_of(ranks), *sharded_of(ranks)]
    told = (_blamed(ranks, replicas) for replicas in every if replicas.leaves is None)  # by hand: may divide
    by_numbers = (_blamed_by_numbers(ranks, replicas) for replicas in every)
    yield from islice(filter(None, chain(told, by_numbers)), 1)


def _blamed_by_numbers(ranks: Ranks, replicas: Replicas) -> Blame | None:
    """The line that divides by a rank's own count, whatever the source looks like, where numbers show it."""
    found = weighed_apart(ranks, replicas)
    if found is not None:
        return Blame(
            f"each rank divides its losses by its own count before gradients are averaged, so that a single one of "
            f"rank {found.most} weighs at least {found.times:.1f} times as much as one of rank {found.least}",
            found.site,
            meant=True,
        )
    divided = divided_gradients(ranks, replicas)
    told = None if divided is None else _much_more(ranks, replicas, divided)
    if divided is None or told is None:
        return None
    words = "each rank divides its gradients by its own count before they are averaged, and"
    return Blame(f"{words} {told}: what that has weighs more", divided.site, meant=True)


def _much_more(ranks: Ranks, replicas: Replicas, divided: Divided) -> str | None:
    """How unlike the counts are that gradients are divided by: by what masks select, else by what graphs are given."""
    if divided.most is not None:
        return f"rank {divided.most} selects at least {divided.times:.1f} times as much as rank {divided.least}"
    most, least, times = _unlike(ranks, replicas) or (None, None, 0.0)
    return None if most is None else f"rank {most} is given {times:.1f} times as many bytes as rank {least}"


def _blamed(ranks: Ranks, replicas: Replicas) -> Blame | None:
    """The line on which these ranks divide by much unlike numbers; a hint where nobody recorded these."""
    with load(Path(ranks.rank(replicas.members[0]).path)) as recording:
        site = _own_mean(recording)
    words = "each rank divides its loss by its own count before gradients are averaged"
    unlike = None if site is None else _unlike(ranks, replicas)
    if unlike is not None:
        most, least, times = unlike
        more = f"rank {most} is given {times:.1f} times as many bytes as rank {least}"
        return Blame(f"{words}, and {more}: what rank {least} has weighs more", site, certain=False)
    line = site or _own_mean_beside_others(ranks, replicas)
    counted = None if line is None else counts_apart(ranks, replicas, line)
    if counted is not None:
        return Blame(f"{words}, and {_by_counts(counted)}", line, certain=False)
    padded = None if site is None else unlike_gradients(ranks, replicas)
    if padded is not None:
        most, least, times = padded
        more = f"those of rank {least} are {times:.1f} times as large as those of rank {most}"
        return Blame(f"{words}, and {more}: what rank {least} has weighs more", site, meant=True)
    return None


def _by_counts(found: Counts) -> str:
    """How unlike they are, and which rank's part weighs more."""
    if found.in_turn:
        return (
            f"in each step that was looked at the largest is at least {found.times:.1f} times as large as the "
            "smallest, now on one rank and now on another: what the rank with few has weighs more"
        )
    more = f"that of rank {found.most} is at least {found.times:.1f} times as large as that of rank {found.least}"
    return f"{more}: what rank {found.least} has weighs more"


def _own_mean_beside_others(ranks: Ranks, replicas: Replicas) -> Site | None:
    """The line that divides by a rank's own count, where ranks exchange what one of them has no use for."""
    for number in replicas.members[:SEVERAL]:
        with load(Path(ranks.rank(number).path)) as recording:
            site = _own_mean(recording, sites_left_unused(recording))
        if site is not None:
            return site
    return None


def _unlike(ranks: Ranks, replicas: Replicas) -> tuple[int, int, float] | None:
    """The ranks that are given the most and the least, and how many times as much."""
    given: dict[int, int] = {}
    for number in replicas.members:
        with load(Path(ranks.rank(number).path)) as recording:
            steps = given_bytes(recording)
            given[number] = sum(steps.values()) if len(steps) >= LEAST else 0
    most, least = (choose(given, key=given.__getitem__) for choose in (max, min))
    if not given[least]:
        return None
    with load(Path(ranks.rank(most).path)) as here, load(Path(ranks.rank(least).path)) as there:
        times = times_as_much(here, there)
    return None if times is None else (most, least, times)


def _own_mean(recording: Recording, unused: frozenset[Site] = frozenset()) -> Site | None:
    """The line that divides the loss of most backward calls by a rank's own count."""
    ways, shown = ways_of(recording), sites_that_show(recording) | unused
    alone = [number for number, way in ways.items() if not any(_exchanges(one) for one in way if one.site not in shown)]
    if len(alone) < max(_MOSTLY * len(ways), LEAST):
        return None
    call = next(one for one in recording.backwards() if one.number == alone[-1])
    frames = frames_of(recording, call.stack)
    sites = map(partial(_Seen(recording).divides, frames), _losses(frames[0])) if frames else ()
    site = next(filter(None, sites), None)
    if site is None or not any(_is_at(one, site) for one in ways[call.number]):
        return None
    nodes = recording.graph(call.number).nodes
    ends = (one.inputs_meta[0] for one in nodes if str(one.site) == str(site) and one.inputs_meta)
    return site if any(one is not None and not one.shape for one in ends) else None


def _exchanges(one: Operation) -> bool:
    return is_collective(one.name) and base_name(one.name) not in _SHARES and not puts_together(one)


def _is_at(one: Operation, site: Site) -> bool:
    return one.grad and one.name.startswith(_DIVIDES) and str(one.site) == str(site)


def _losses(frame: Frame) -> Iterator[ast.expr]:
    """What a line starts a backward from, or gives to what does."""
    for node in ast.walk(frame.function):
        if isinstance(node, ast.Call) and called_name(node) == _BACKWARD and node.lineno == frame.site.line:
            yield from node.args[:1]
            if isinstance(node.func, ast.Attribute):
                yield node.func.value


class _Seen:
    """Expressions with a mark in the place of a count of a rank's own, or of what is divided by one."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def divides(self, frames: list[Frame], value: ast.expr) -> Site | None:
        """The line that divides what a value comes from by a rank's own count."""
        return origin(self._recording, frames, value, _is_marked, self._with_quotients, given_by_objects)

    def _with_quotients(self, frames: list[Frame], value: ast.expr) -> ast.expr:
        told = self._alone(frames, value)
        nodes = (node for node in ast.walk(told) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
        return next((_marked(node) for node in nodes if self._is_by_a_count(frames, node.right)), told)

    def _is_by_a_count(self, frames: list[Frame], value: ast.expr) -> bool:
        return origin(self._recording, frames, value, _is_marked, self._with_counts, given_by_objects) is not None

    def _with_counts(self, frames: list[Frame], value: ast.expr) -> ast.expr:
        told = self._alone(frames, value)
        calls = (node for node in ast.walk(told) if isinstance(node, ast.Call))
        return next((_marked(node) for node in calls if self._is_count(frames, node)), told)

    def _is_count(self, frames: list[Frame], call: ast.Call) -> bool:
        if called_name(call) in _COUNTS:
            return True
        of = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == _SUM else None
        return of is not None and origin(self._recording, frames, of, _is_mask, self._alone) is not None

    def _alone(self, frames: list[Frame], value: ast.expr) -> ast.expr:
        return without_meetings(self._recording, frames[0], value)


def _marked(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Constant(_OWN), node)


def _is_marked(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is _OWN


def _is_mask(value: ast.expr) -> bool:
    """Whether a value is a comparison, or called a mask, in a part of it."""
    nodes = list(ast.walk(value))
    names = [getattr(node, "id", getattr(node, "attr", "")) for node in nodes]
    return any(isinstance(node, ast.Compare) for node in nodes) or any(
        mask in name.lower() for name in names for mask in _MASKS
    )
