"""Which line of one program is which line of another, from a diff of the sources that the recordings hold.

An edit moves all that stands below it; a number of a line says nothing before that is undone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import PurePath

from gradscope.model.comparison import Edit

_ALIKE = 0.6  # two lines that are at least so alike are one line that was edited
_SHARED = 0.5  # of its lines: a file with another name that is the same program
_FAR = 40  # lines within which its partner is looked for

Line = tuple[str, int]


class SourceLines:
    """The lines of a second program, told by those of a first. `main` are the scripts of both."""

    def __init__(self, first: Mapping[str, str], second: Mapping[str, str], main: tuple[str, str]) -> None:
        self._partners = dict(_partners(first, second, main))
        self._lines: dict[Line, Line] = {}
        self._same: set[str] = set()  # files with the same text
        self.edits: tuple[Edit, ...] = tuple(
            edit
            for other, one in self._partners.items()
            for edit in self._compare(one, other, first[one], second[other])
        )

    def partner(self, file: str, line: int) -> tuple[str, int, bool]:
        """A line of the second program as one of the first; else itself, and True."""
        one = self._partners.get(file)
        if one is None:
            return file, line, False  # a library's, or one whose text is not known
        if file in self._same:
            return one, line, False
        found = self._lines.get((file, line))
        return (file, line, True) if found is None else (*found, False)

    def _compare(self, one: str, other: str, text: str, other_text: str) -> Iterator[Edit]:
        if text == other_text:
            self._same.add(other)
            return
        lines, others = text.splitlines(), other_text.splitlines()
        for tag, start, end, from_, to in SequenceMatcher(None, lines, others, autojunk=False).get_opcodes():
            if tag == "equal":
                pairs = list(zip(range(start, end), range(from_, to), strict=True))
            else:
                yield Edit(one, other, start + 1, tuple(lines[start:end]), from_ + 1, tuple(others[from_:to]))
                pairs = list(_edited(lines, others, range(start, end), range(from_, to)))
            self._lines |= {(other, there + 1): (one, here + 1) for here, there in pairs}


def _edited(lines: list[str], others: list[str], these: range, those: range) -> Iterator[tuple[int, int]]:
    """The pairs of lines that are one line, edited, in order."""
    if len(these) == len(those):
        yield from zip(these, those, strict=True)
        return
    at = those.start
    for here in these:
        alike = [(_likeness(lines[here], others[there]), -there) for there in range(at, min(those.stop, at + _FAR))]
        likeness, place = max(alike, default=(0.0, 0))
        if likeness >= _ALIKE:
            yield here, -place
            at = 1 - place


def _likeness(line: str, other: str) -> float:
    return SequenceMatcher(None, line.strip(), other.strip()).ratio()


def _partners(first: Mapping[str, str], second: Mapping[str, str], main: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """(a file of the second program, the same of the first): by name, by the end of the name, or the scripts."""
    left = set(first)
    waiting = []
    for other in second:
        if other in left:
            left.discard(other)
            yield other, other
        else:
            waiting.append(other)
    for other in waiting:
        one = main[0] if other == main[1] and main[0] in left else _by_name(other, left)
        one = one or _by_text(second[other], first, left)
        if one is not None:
            left.discard(one)
            yield other, one


def _by_name(other: str, left: set[str]) -> str | None:
    """The file whose path has most of the same end."""
    ends = {one: _common_end(one, other) for one in left}
    best = max(ends.values(), default=0)
    found = [one for one, length in ends.items() if length == best]
    return found[0] if best and len(found) == 1 else None


def _by_text(text: str, texts: Mapping[str, str], left: set[str]) -> str | None:
    """The file that shares most of its lines with a text, and at least half of them."""
    lines = set(text.splitlines())
    shares = {one: len(lines & set(texts[one].splitlines())) / max(len(lines), 1) for one in left}
    best = max(shares, key=lambda one: shares[one], default=None)
    return best if best is not None and shares[best] >= _SHARED else None


def _common_end(one: str, other: str) -> int:
    length = 0
    for here, there in zip(reversed(PurePath(one).parts), reversed(PurePath(other).parts), strict=False):
        if here != there:
            break
        length += 1
    return length
