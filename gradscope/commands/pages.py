"""What `graph --fmt html` and `open` share: gathering from a recording all that its page shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from gradscope.commands import options
from gradscope.model.finding import Finding
from gradscope.store.reader import Recording
from gradscope.view.ordered import ordered

if TYPE_CHECKING:  # loaded where a page is made: text does without
    from gradscope.view.replay import Recorded
    from gradscope.view.story import Story

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

MOST_NODES = 50_000  # of the distinct graphs that a page holds beside the one in front

source: Decorator = click.option(
    "--source/--no-source", default=True, help="Show your files' lines in the page, which holds them then."
)
others: Decorator = click.option(
    "--others",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    metavar="N",
    help="How many other backward calls the page holds, to switch to and to compare with.",
)


def explained(opened: Recording, pointing: bool = False) -> tuple[Finding, ...]:
    """What is found in a recording, by all questions or by those alone that are quick and point at nodes; which
    question took too long is said, because its marks may be missing."""
    from gradscope.anomaly import explain  # loaded where it is asked: text does without
    from gradscope.explain.findings.table import POINTING, QUESTIONS

    report = explain(opened, kinds=POINTING if pointing else QUESTIONS)
    if report.gap is not None:
        options.talk(report.gap)
    return report.findings


def _nothing(words: str) -> None:
    pass


def gather(
    opened: Recording, backward: int | None, others: int, source: bool, doing: Callable[[str], None] = _nothing
) -> Story:
    """What a page shows: a backward call, the last unless one is named, and others. `doing` is told what goes on."""
    from gradscope.measures.steps import course
    from gradscope.view.story import Story

    chosen = opened.chosen(backward)
    doing("looking for findings")
    findings = explained(opened)
    groups = opened.by_graph()
    first = {number: group[0] for group in groups for number in group}
    numbers = _beside(opened, chosen, findings, first, others)
    doing(f"building the page of {len(numbers)} backward calls")
    return Story(
        tuple(_recorded(opened, number) for number in numbers),
        chosen,
        opened.run(),
        str(opened.path),
        alike=tuple(first[number] for number in numbers),
        findings=findings,
        sources=opened.sources() if source else {},
        left_out=len(first) - len(numbers),
        steps=course(opened),
    )


def _beside(
    opened: Recording, chosen: int, findings: Iterable[Finding], first: dict[int, int], most: int
) -> tuple[int, ...]:
    """The numbers of the calls to hold: those that findings point at, then those nearest to the chosen one."""
    sizes = opened.graph_sizes()
    pointed = [finding.backward for finding in findings if finding.backward in first]
    near = sorted(first, key=lambda number: (abs(number - chosen), number))
    kept, graphs, room = {chosen}, {first[chosen]}, MOST_NODES
    for number in (*pointed, *near):
        if number is None or number in kept or len(kept) > most:
            continue
        cost = 0 if first[number] in graphs else sizes[number]
        if cost <= room:
            room -= cost
            kept.add(number)
            graphs.add(first[number])
    return tuple(sorted(kept))


def _recorded(opened: Recording, number: int) -> Recorded:
    from gradscope.measures.steps import updated
    from gradscope.view.replay import Recorded

    return Recorded(
        ordered(opened.graph(number)),
        opened.node_runs(number),
        opened.gradients(number),
        opened.operators(number),
        opened.nested(number),
        opened.hooks_at(number),
        updated(opened, number),
    )
