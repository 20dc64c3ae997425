"""Which edited line a difference goes back to: one under which it happened, one that built its module, one above it."""

from __future__ import annotations

from collections.abc import Iterable

from gradscope.model.comparison import Difference, Edit
from gradscope.model.mutation import Declaration
from gradscope.model.site import Origin, Stack
from gradscope.ranks.comparing.together import Found
from gradscope.ranks.core.keys import unwrapped


class Causes:
    """The edits between two programs, and where their modules were built: of the first, and of the second."""

    def __init__(self, edits: tuple[Edit, ...], first: Iterable[Declaration], second: Iterable[Declaration]) -> None:
        self._edits = edits
        self._built = _built(first), _built(second)

    def of(self, found: Found) -> Edit | None:
        """The edit, None where there is none or where several may be it."""
        if not self._edits:
            return None
        sides = (found.difference.first, found.difference.second)
        for other, stack in ((True, found.stacks[1]), (False, found.stacks[0])):
            edit = self._on(stack, other)
            if edit is not None:
                return edit
        for other, side in ((True, sides[1]), (False, sides[0])):
            built = self._built[other].get(unwrapped(side.module)) if side.module is not None else None
            edit = None if built is None else self._on(built, other)
            if edit is not None:
                return edit
        return self._only_one() or self._above(found.difference)

    def _on(self, stack: Stack, other: bool) -> Edit | None:
        """The edit that holds one of the lines of a stack, the innermost first."""
        for site in stack:
            if site.origin is not Origin.USER:
                continue
            for edit in self._edits:
                file, first, texts = (
                    (edit.other_file, edit.other_first, edit.other_texts)
                    if other
                    else (edit.file, edit.first, edit.texts)
                )
                if site.file == file and first <= site.line < first + len(texts):
                    return edit
        return None

    def _only_one(self) -> Edit | None:
        return self._edits[0] if len(self._edits) == 1 else None

    def _above(self, difference: Difference) -> Edit | None:
        """The last edit above the line in its file, else the first edit of all: what decides stands before it."""
        site, other = difference.second.site, True
        if site is None:
            site, other = difference.first.site, False
        if site is None:
            return self._edits[0]
        places = [
            (edit.other_first if other else edit.first, edit)
            for edit in self._edits
            if (edit.other_file if other else edit.file) == site.file
        ]
        above = [edit for line, edit in places if line <= site.line]
        return above[-1] if above else None


def _built(declarations: Iterable[Declaration]) -> dict[str, Stack]:
    return {unwrapped(one.path): one.stack for one in declarations}
