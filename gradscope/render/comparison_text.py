"""Two runs side by side, for people at a terminal: the answer, the first difference, the others, what is equal."""

from __future__ import annotations

from collections.abc import Iterator

import click

from gradscope.model.comparison import Comparison, Difference, Edit, Side
from gradscope.model.printable import printable
from gradscope.view.comparison import headline, identical, side_words, tally_words, when
from gradscope.view.words import place, short_file

MOST_EDITS, MOST_LINES = 6, 8
COLOURS = {"-": "red", "+": "green"}


def render(comparison: Comparison) -> str:
    """The whole comparison; it carries colours, which are taken out where they are not wanted."""
    lines = list(_heads(comparison))
    lines += ["", click.style(headline(comparison), bold=True)]
    if comparison.differences:
        lines += [identical(comparison), "", *_difference(comparison.differences[0], comparison)]
    rest = comparison.differences[1:]
    if rest:
        lines += ["", "also different, the first of each kind:"]
        lines += [f"  {line}" for one in rest for line in _short(one, comparison)]
    lines += _equal(comparison)
    lines += _how(comparison)
    if comparison.edits:
        lines += ["", "the sources differ:", *_edits(comparison)]
    lines += [line for note in comparison.notes for line in ("", printable(note))]
    return "\n".join(lines) + "\n"


def _heads(comparison: Comparison) -> Iterator[str]:
    for mark, subject in (("A", comparison.first), ("B", comparison.second)):
        step = "" if subject.step is None else f", step {subject.step}"
        yield printable(f"{mark}  {subject.path}{step}  ({subject.program or 'a program without a name'})")


def _difference(difference: Difference, comparison: Comparison) -> Iterator[str]:
    """One in full: both sides with their lines, what is around them, and the edit that it goes back to."""
    if difference.rows:
        for mark, side in difference.rows:
            line = printable(f"  {mark} {_words(side, mark, comparison)}")
            yield click.style(line, fg=COLOURS[mark]) if mark in COLOURS else line
    else:
        for name, side, folder in _sides(difference, comparison):
            yield printable(f"  {name}  {side_words(side, folder)}")
    told = set()
    for name, side, _ in _sides(difference, comparison):
        if side.site is not None and side.site.source and (name, side.site) not in told:
            told.add((name, side.site))
            yield click.style(printable(f"  {name}  > {side.site.source}"), dim=True)
    if difference.edit is not None:
        yield printable(f"  goes back to the edit at {place(difference.edit.site, comparison.second.folder)}")
        yield from _edit(difference.edit)


def _sides(difference: Difference, comparison: Comparison) -> tuple[tuple[str, Side, str], ...]:
    return (
        ("A", difference.first, comparison.first.folder),
        ("B", difference.second, comparison.second.folder),
    )


def _words(side: Side, mark: str, comparison: Comparison) -> str:
    return side_words(side, comparison.second.folder if mark == "+" else comparison.first.folder)


def _short(difference: Difference, comparison: Comparison) -> Iterator[str]:
    yield printable(f"{difference.aspect.name}, {when(difference.moment, difference.step, comparison)}")
    for name, side, folder in _sides(difference, comparison):
        yield printable(f"  {name}  {side_words(side, folder)}")


def _equal(comparison: Comparison) -> Iterator[str]:
    """What was compared, and how it came out."""
    yield ""
    yield "compared:"
    widest = max((len(tally.aspect.plural) for tally in comparison.tallies), default=0)
    for tally in comparison.tallies:
        line = f"  {tally.aspect.plural:<{widest}}  {tally_words(tally)}"
        yield click.style(line, fg="red") if tally.differ else line
    if comparison.ignored:
        yield f"  ignored: {', '.join(comparison.ignored)}"


def _how(comparison: Comparison) -> Iterator[str]:
    """How the runs were made, where that is not the same."""
    if not comparison.circumstances:
        return
    yield ""
    yield "made differently:"
    for one in comparison.circumstances:
        yield printable(f"  {one.name}: {one.first} | {one.second}")


def _edits(comparison: Comparison) -> Iterator[str]:
    for edit in comparison.edits[:MOST_EDITS]:
        yield printable(f"  {short_file(edit.site.file, comparison.second.folder)}:{edit.site.line}")
        yield from _edit(edit)
    if len(comparison.edits) > MOST_EDITS:
        yield f"  and {len(comparison.edits) - MOST_EDITS} more"


def _edit(edit: Edit) -> Iterator[str]:
    for mark, texts in (("-", edit.texts), ("+", edit.other_texts)):
        for text in texts[:MOST_LINES]:
            yield click.style(printable(f"    {mark} {text}"), fg=COLOURS[mark])
        if len(texts) > MOST_LINES:
            yield f"    {mark} ... {len(texts) - MOST_LINES} more lines"
