"""GS910: one rank looks at its own loss and tells all others to leave a step out: what these see themselves is lost."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from gradscope.model.operation import base_name
from gradscope.model.rank import Rank
from gradscope.model.site import Stack
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.core.words import named
from gradscope.ranks.gradients.sent_checks import SentCheck, is_of_this_step, root_of
from gradscope.ranks.source.deciding import conditions_of
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.ways import is_collective, ways_of
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_BEFORE, _FEWEST = 16, 6  # losses that one is compared with
_LEAPT, _USUAL = 8.0, 3.0  # times their median: far above it, and still as the others
_READS = frozenset(("item", "tolist"))
_SENDS = frozenset(("broadcast", "broadcast_"))

Losses = dict[int, float]  # by backward


def one_decides(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A step that all ranks make though the loss of one has leapt, where another rank alone decides by its own loss
        which steps are left out, and sends that to all.
    Why:
        Ranks have batches of their own. The one whose batch is broken sees it, and its answer is overwritten by that of
        the rank that sends: its gradients go into the average, and into the parameters of all.
    Wrong:
        flag = torch.tensor([float(is_spike(loss.item()))])
        dist.broadcast(flag, src=0)
    Right:
        flag = torch.tensor([float(is_spike(loss.item()))])
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    Do instead:
        Reduce what each rank finds over all of them (the greatest, or the sum), or reduce the loss before it is asked.
    How it is found:
        On the way to a backward a broadcast, and nothing else that ranks exchange, sends what comes of a number read
        from the loss that this backward starts from; a condition below it leaves the step out. The loss of a rank that
        does not send is eight times the median of those before it and more in that backward, that of the rank which
        sends is as ever. A hint: how far a loss may leap is the program's to say.
    """
    losses = {
        number: {backward: float(value) for backward, value in content}
        for content, numbers in ranks.losses.items()
        for number in numbers
    }
    for one in ranks.ranks:
        leapt = [backward for backward in losses.get(one.rank, {}) if _ratio(losses[one.rank], backward) >= _LEAPT]
        found = _found(ranks, one, losses, leapt) if leapt else None
        if found is not None:
            sent, backward = found
            yield Blame(
                f"the loss of {named([one.rank])} is {_ratio(losses[one.rank], backward):,.0f} times as large as usual "
                f"in backward {backward}, and its step is made: rank {sent.root} alone decides here which are left out",
                sent.site,
                certain=False,
                backward=backward,
            )
            return


def _ratio(losses: Losses, backward: int) -> float:
    """How many times as large as the median of those before it a loss is; 1 where too few are known."""
    before = [losses[at] for at in range(max(backward - _BEFORE, 0), backward) if at in losses]
    usual = median(before) if len(before) >= _FEWEST else 0.0
    return losses[backward] / usual if usual > 0 else 1.0


def _found(ranks: Ranks, one: Rank, losses: dict[int, Losses], leapt: list[int]) -> tuple[SentCheck, int] | None:
    """The line at which another rank decided on a step of a rank whose loss had leapt, and the backward."""
    with load(Path(one.path)) as recording, damage_is_one_sentence(recording.path):
        for backward in leapt:
            sent = _decision(ranks, recording, backward)
            theirs = {} if sent is None or sent.root == one.rank else losses.get(sent.root, {})
            if sent is not None and backward in theirs and _ratio(theirs, backward) < _USUAL:
                return sent, backward
    return None


def _decision(ranks: Ranks, recording: Recording, backward: int) -> SentCheck | None:
    """The broadcast by which one rank decides on the step of a backward, where ranks exchange nothing else before."""
    met = [each for each in ways_of(recording).get(backward, []) if is_collective(each.name)]
    if not met or any(base_name(each.name) not in _SENDS for each in met):
        return None
    last = met[-1]
    root = root_of(ranks, last)
    if last.site is None or root is None or not is_of_this_step(recording, last.stack, backward, _read_from):
        return None
    return SentCheck(last.site, root) if _leaves_out(recording, last.stack, backward) else None


def _read_from(value: ast.expr) -> list[ast.expr]:
    """What a value reads a number from."""
    calls = (node for node in ast.walk(value) if isinstance(node, ast.Call))
    return [call.func.value for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _READS]


def _leaves_out(recording: Recording, stack: Stack, backward: int) -> bool:
    """Whether a condition on the line of a call or below it decides if a backward in the same function is begun."""
    sent = [frame.site for frame in frames_of(recording, stack)]
    ends = [
        frame for one in recording.backwards() if one.number == backward for frame in frames_of(recording, one.stack)
    ]
    return any(
        test.lineno >= site.line
        for end in ends
        for site in sent
        if end.site.is_in_function_of(site)
        for test in conditions_of(end)
    )
