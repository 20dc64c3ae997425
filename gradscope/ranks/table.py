"""The kinds of faults of several ranks, in the order in which they are asked for: `gradscope ranks` asks them all."""

from __future__ import annotations

from gradscope.errors import noted
from gradscope.model.choice import Choice
from gradscope.model.finding import Finding, Severity
from gradscope.ranks.core.kind import RankKind
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.data import averaged_variances, counted_twice, epochs, salted, same_data, splits, unequal_means
from gradscope.ranks.gradients import (
    averaged_twice,
    clipped,
    nonfinite,
    own_part,
    sent_choices,
    summed,
    undivided,
    weighed,
    weighed_apart,
)
from gradscope.ranks.meeting import stopped, stragglers, thrown_away
from gradscope.ranks.replicas import buffers, gathered, ordered, replicas

_APART = ("GS793", "GS789", "GS795", "GS796")

RANK_KINDS = {
    kind.code: kind
    for kind in (
        RankKind("GS790", "collective-mismatch", Severity.ERROR, stopped.mismatched),
        RankKind("GS793", "nan-on-one-rank", Severity.ERROR, nonfinite.nonfinite),
        RankKind("GS791", "rank-stopped", Severity.ERROR, stopped.stopped, unless=("GS790",)),
        RankKind("GS788", "holds-gathered", Severity.WARNING, gathered.holds_what_was_gathered, unless=("GS793",)),
        RankKind("GS789", "names-in-another-order", Severity.WARNING, ordered.in_another_order),
        RankKind("GS796", "gradients-not-averaged", Severity.ERROR, replicas.not_averaged, unless=("GS793",)),
        RankKind("GS795", "replicas-start-apart", Severity.WARNING, replicas.start_apart, unless=("GS793", "GS789")),
        RankKind("GS792", "replicas-drift", Severity.WARNING, replicas.drifted, unless=_APART),
        RankKind(
            "GS911",
            "result-thrown-away",
            Severity.INFO,
            thrown_away.throws_away,
            unless=("GS790", "GS791", "GS793"),
        ),
        RankKind("GS783", "mean-of-means", Severity.WARNING, weighed.means_of_means, unless=("GS796",)),
        RankKind(
            "GS797",
            "buffers-drift",
            Severity.WARNING,
            buffers.drifted,
            unless=(*_APART, "GS792"),
        ),
        RankKind("GS794", "same-data", Severity.WARNING, same_data.same_data),
        RankKind("GS798", "straggler", Severity.WARNING, stragglers.straggling, unless=("GS783",)),
        RankKind("GS787", "same-order", Severity.WARNING, epochs.same_order),
        RankKind("GS782", "salted-numbers", Severity.WARNING, salted.salted),
        RankKind("GS784", "clipped-apart", Severity.WARNING, clipped.clipped_apart),
        RankKind("GS786", "split-apart", Severity.WARNING, splits.split_apart),
        RankKind("GS769", "counted-twice", Severity.WARNING, counted_twice.counted_twice),
        RankKind(
            "GS903",
            "averaged-variances",
            Severity.WARNING,
            averaged_variances.averages_variances,
            unless=("GS790", "GS791", "GS793", "GS794"),
        ),
        RankKind("GS780", "own-weights", Severity.WARNING, weighed_apart.weighed_apart),
        RankKind("GS799", "summed-again", Severity.WARNING, summed.summed_again, unless=("GS790", "GS791", "GS793")),
        RankKind(
            "GS910",
            "one-rank-decides",
            Severity.INFO,
            sent_choices.one_decides,
            unless=("GS790", "GS791", "GS793"),
        ),
        RankKind(
            "GS924",
            "unequal-means",
            Severity.INFO,
            unequal_means.unequal_means,
            unless=("GS790", "GS791", "GS793", "GS903"),
        ),
        RankKind(
            "GS767",
            "averaged-twice",
            Severity.INFO,
            averaged_twice.averaged_twice,
            unless=("GS790", "GS791", "GS793"),
        ),
        RankKind(
            "GS768",
            "own-part-alone",
            Severity.INFO,
            own_part.own_part_alone,
            unless=("GS790", "GS791", "GS793", "GS799"),
        ),
        RankKind(
            "GS765",
            "sum-of-means",
            Severity.INFO,
            undivided.undivided,
            unless=("GS790", "GS791", "GS793", "GS795", "GS792", "GS799"),
        ),
    )
}


def findings(ranks: Ranks, choice: Choice, mistakes: list[Exception] | None = None) -> tuple[Finding, ...]:
    """What is wrong, the most telling first.

    A mistake of our own in one question takes no other answer along where there are `mistakes` to note it in.
    """
    found: list[Finding] = []
    for kind in RANK_KINDS.values():
        if not choice.wants(kind.code) or {one.code for one in found} & set(kind.unless):
            continue
        with noted(mistakes):
            found += [kind.finding(blame) for blame in kind.question(ranks)]
    return tuple(found)
