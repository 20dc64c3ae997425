"""The front of `gradscope diff`: holds one recording against another, or one step against another."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

from gradscope.errors import UsageError
from gradscope.model.comparison import Comparison, Difference, Subject
from gradscope.ranks.comparing import circumstances, happenings
from gradscope.ranks.comparing.cause import Causes
from gradscope.ranks.comparing.happenings import Happenings
from gradscope.ranks.comparing.names import LeafNames, leaves
from gradscope.ranks.comparing.source_lines import SourceLines
from gradscope.ranks.comparing.structure import Structure
from gradscope.ranks.comparing.timeline import Timeline
from gradscope.ranks.comparing.together import Gathered, Pair
from gradscope.ranks.comparing.values import Values
from gradscope.ranks.core.choice import Ignored
from gradscope.ranks.core.keys import Keys, Numbers
from gradscope.store.reader import Recording


@dataclass(frozen=True, slots=True)
class Steps:
    """The one step of each run that is compared."""

    first: int
    second: int


def compare(first: Recording, second: Recording, ignored: Ignored, steps: Steps | None = None) -> Comparison:
    """Hold `second` against `first`; with `steps`, only these. Raises UsageError when a step is not there."""
    scripts = tuple(_script(one) for one in (first, second))
    lines = SourceLines(first.sources(), second.sources(), (scripts[0], scripts[1]))
    names = LeafNames(leaves(first), leaves(second))
    pairs = _pairs(first, second, steps)
    gathered = Gathered({call.number: call.step for call in first.backwards()})
    _structure(first, second, ignored, lines, names, gathered, pairs, steps is None)
    before, after = Happenings(first, ignored, _own), Happenings(second, ignored, lines.partner)
    happenings.compare(before, after, gathered, pairs)
    happenings.compare_ends(first, second, gathered, pairs, steps is None)
    if not ignored.seed:
        Values(first, second, names, gathered).compare(pairs)
    return Comparison(
        first=_subject(first, scripts[0], None if steps is None else steps.first),
        second=_subject(second, scripts[1], None if steps is None else steps.second),
        differences=tuple(_differences(gathered, Causes(lines.edits, first.declarations(), second.declarations()))),
        tallies=gathered.tallies(),
        circumstances=tuple(circumstances.differing(first.run(), second.run())),
        edits=lines.edits,
        ignored=ignored.words,
        notes=tuple(_notes(first, second, names)),
    )


def _structure(
    first: Recording,
    second: Recording,
    ignored: Ignored,
    lines: SourceLines,
    names: LeafNames,
    gathered: Gathered,
    pairs: list[Pair],
    whole: bool,
) -> None:
    numbers = Numbers()
    these = Timeline(first, Keys(first.tables.interned, numbers, ignored, _own, names.first))
    those = Timeline(second, Keys(second.tables.interned, numbers, ignored, lines.partner, names.second))
    ends = len(these.backwards), len(those.backwards)
    Structure(these, those, numbers, gathered, ignored).compare(pairs, ends if whole and ends[0] == ends[1] else None)


def _own(file: str, line: int) -> Hashable:
    return file, line, False


def _pairs(first: Recording, second: Recording, steps: Steps | None) -> list[Pair]:
    """The backward calls that belong together."""
    calls, others = first.backwards(), second.backwards()
    if steps is None:
        return list(zip(range(len(calls)), range(len(others)), strict=False))
    these = [call.number for call in calls if call.step == steps.first]
    those = [call.number for call in others if call.step == steps.second]
    for recording, number, found in ((first, steps.first, these), (second, steps.second, those)):
        if not found:
            last = max((call.step for call in recording.backwards()), default=None)
            holds = "no step" if last is None else f"steps up to {last}"
            raise UsageError(f"there is no step {number} in {recording.path}, which holds {holds}")
    return list(zip(these, those, strict=False))


def _script(recording: Recording) -> str:
    """The program's own file among those whose text is recorded."""
    program = recording.run().program
    return next((file for file in recording.sources() if program and file.endswith(program)), program)


def _subject(recording: Recording, script: str, step: int | None) -> Subject:
    return Subject(str(recording.path), recording.run().program or script, recording.run().cwd, step)


def _differences(gathered: Gathered, causes: Causes) -> Iterator[Difference]:
    for found in gathered.earliest():
        yield replace(found.difference, edit=causes.of(found))


def _notes(first: Recording, second: Recording, names: LeafNames) -> Iterator[str]:
    for recording in (first, second):
        if not recording.run().ended:
            yield f"{recording.path} did not end: it is compared as far as it was recorded"
    for new, old in list(names.renamed.items())[:3]:
        yield f"{old} is called {new} in the second run"
    compiled = [_compiled(one) for one in (first, second)]
    if compiled[0] != compiled[1]:
        which = "second" if compiled[1] else "first"
        yield (
            f"only the {which} run is compiled: its operators and nodes are others by nature; "
            "losses, weights and gradients tell whether it computes the same"
        )


def _compiled(recording: Recording) -> bool:
    """Whether any node stands for a compiled region."""
    sql = "SELECT count(*) FROM node WHERE name IN (SELECT id FROM string WHERE text = 'CompiledFunctionBackward')"
    return bool(recording.tables.rows.number(sql))
