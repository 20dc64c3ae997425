"""GS793: a NaN of one rank, which spreads to the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradscope.model.finding import Confidence, Related
from gradscope.model.operation import base_name
from gradscope.model.rank import Rank
from gradscope.model.site import Site
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.core.words import named
from gradscope.ranks.gradients.born_in_backward import born_in_backward
from gradscope.ranks.gradients.halved import summed_in_half
from gradscope.ranks.gradients.passed_over import with_what_did_harm
from gradscope.ranks.gradients.scaled import decided_apart
from gradscope.ranks.gradients.sent_checks import sent_check
from gradscope.ranks.gradients.sent_counts import sent_count
from gradscope.ranks.gradients.spread import source_of
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import load

_FORMS = frozenset(
    ("transpose", "t", "permute", "view", "reshape", "squeeze", "unsqueeze", "expand", "clone", "detach")
)


def nonfinite(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A loss that becomes NaN or Inf on some ranks before it does on the others, in another step or in the same one;
        or on all of them in the same step and by the same line. Also gradients that do, where no loss ever does.
    Why:
        The next all_reduce spreads it to every rank, so that all of them look guilty. The sample, the shard or the
        branch that made it is that of the first.
    Wrong:
        loss = criterion(model(x).log(), y)
    Right:
        loss = criterion(model(x).clamp_min(eps).log(), y)
    Do instead:
        Mend the line on that rank; `gradscope explain` on its recording tells more. Let all ranks go by what any of
        them finds: reduce it over the ranks, and do not send what one of them found.
    How it is found:
        The first backward of each rank whose root was not finite, and the operator that gave the first such value.
        Where a rank made a step of a GradScaler that another one left out, after it had looked for infinite gradients
        and before these were averaged, the line is that of the look; where a check of the loss, or of data that were
        not finite before the model was given them, is sent to all by a rank that had none, or one whether there is
        anything at all, where nothing is divided by nothing, it is the line that sends it; else that which `gradscope
        explain` names. Of a value that all ranks have in one step: the rank that had it before a collective after which
        the others had it. Where ranks have other numbers of samples and such a number, times the number of ranks,
        divides a sum over all, the line is that of the number. Where all ranks have it from one operator and line, the
        line is that which `gradscope explain` names for the first, that of a training which diverges among them; where
        an optimizer was the first to read NaN, after gradients were summed in float16, that which makes what is summed.
        A backward after which all ranks clear the gradients without a step, and go on, is left out.
    """
    if len(ranks.ranks) < 2:
        return
    if all(one.nonfinite is None for one in ranks.ranks):
        if (found := born_in_backward(ranks)) is not None:
            yield found
        return
    if bad := with_what_did_harm(ranks):
        yield from _blamed(ranks, bad)


def _blamed(ranks: Ranks, bad: list[Rank]) -> Iterator[Blame]:
    """What is told of the ranks whose loss was not finite, each with its first such backward."""
    first = min(one.nonfinite for one in bad if one.nonfinite is not None)
    early = [one for one in bad if one.nonfinite == first]
    reached = [one for one in ranks.ranks if one.backwards > first]
    if len(early) == len(reached):
        found = _spread(early, first) or _in_all(ranks, early, first)
        if found is not None:
            yield found
        return
    born = next((one for one in early if one.born is not None), early[0])
    by = f", {_from(born.born_by)}" if born.born_by else ""
    decided = _decided(early[0], next(one for one in reached if one not in early), first) or _sent(ranks, born, first)
    why, site = decided or ("", _explained(ranks, born, first) or born.born)
    yield Blame(
        f"the loss of {named([one.rank for one in early])} is not finite in backward {first}{by}; "
        f"those of the other ranks are{why and f': {why}'}",
        site,
        _later(bad, early),
        backward=first,
        operator=born.born_by,
    )


def _from(operator: str) -> str:
    """How an operator that gave the first such value is told: one that gives numbers another form made none."""
    gives_form = base_name(operator).rstrip("_") in _FORMS
    return f"first seen in what {operator} gives another form" if gives_form else f"from {operator}"


def _explained(ranks: Ranks, one: Rank, backward: int) -> Site | None:
    """The line that is found in the recording of a rank for what was born in it."""
    told = ranks.explained(one.path) if one.born is not None else ()
    return next((each.site for each in told if (each.backward, each.op) == (backward, one.born_by)), None)


def _spread(ranks: list[Rank], backward: int) -> Blame | None:
    """That one of several ranks, which all had it in one backward call, gave it to the others."""
    found = source_of(ranks, backward)
    if found is None:
        return None
    one, birth = found.rank, found.birth
    why = "" if found.counts is None else ", where its own number of samples was taken for that of each"
    return Blame(
        f"the loss of all ranks is not finite in backward {backward}: {birth.op} gave the first such value on "
        f"{named([one.rank])}{why}, and a collective gave it to the others",
        found.counts or birth.site,
        () if found.counts is None else (Related("born_at", birth.site, f"{birth.op} on rank {one.rank}"),),
        backward=backward,
        operator=birth.op,
    )


def _in_all(ranks: Ranks, early: list[Rank], backward: int) -> Blame | None:
    """That all ranks had it from one operator, by themselves: as is found in the recording of the first."""
    if len(early) < 2 or len({(str(one.born), one.born_by) for one in early}) > 1:
        return None
    told = next((one for one in ranks.explained(early[0].path) if one.backward == backward), None)
    if told is None or told.site is None:
        return _in_half(ranks, early[0], backward)
    return Blame(
        f"the loss of all ranks is not finite in backward {backward}, on each by itself; of rank {early[0].rank}: "
        f"{told.message}",
        told.site,
        told.related,
        certain=told.confidence is Confidence.CERTAIN,
        backward=backward,
        operator=told.op,
        tensor=told.tensor,
    )


def _in_half(ranks: Ranks, one: Rank, backward: int) -> Blame | None:
    """That all ranks may have it from gradients that were summed in float16."""
    with load(Path(one.path)) as recording:
        site = summed_in_half(ranks, recording, backward)
    if site is None:
        return None
    return Blame(
        f"the loss of all ranks is not finite in backward {backward}, after an optimizer read NaN from a gradient: "
        "gradients are summed over the ranks in float16 before that, whose largest number is 65,504",
        site,
        certain=False,
        backward=backward,
    )


def _decided(one: Rank, other: Rank, backward: int) -> Told | None:
    """Why one of two ranks made a step just before a backward that the other left out."""
    with load(Path(one.path)) as here, load(Path(other.path)) as there:
        return decided_apart((one, here), (other, there), backward)


def _sent(ranks: Ranks, one: Rank, backward: int) -> Told | None:
    """Why a check for what is not finite let a backward of a rank through: it goes by another rank's answer."""
    with load(Path(one.path)) as recording, damage_is_one_sentence(recording.path):
        found = sent_check(ranks, one, recording, backward)
        counted = sent_count(ranks, one, recording, backward) if found is None else None
    if found is not None:
        return f"of the check for such values, what rank {found.root} finds is sent to all", found.site
    if counted is None:
        return None
    return f"whether there is anything to learn from, rank {counted.root} decides for all by its own data", counted.site


def _later(bad: list[Rank], early: list[Rank]) -> tuple[Related, ...]:
    later = [one for one in bad if one not in early]
    if not later:
        return ()
    soonest = min(one.nonfinite for one in later if one.nonfinite is not None)
    return (Related("first_nonfinite_at", None, f"{named([one.rank for one in later])}: from backward {soonest} on"),)
