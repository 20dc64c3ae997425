"""What a recording stores once and points at by number: strings, frames, stacks, module calls, types, functions.

Chains (stacks, module calls) are walked with a loop and a check for circles, because a file can say anything.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from gradscope.model.graph import FunctionClass, Level
from gradscope.model.module import ModuleCall
from gradscope.model.site import Origin, Site, Stack
from gradscope.model.tensor import TensorType
from gradscope.store.rows import INTEGER, TEXT, Column, Rows, integers

PAGE = 128  # rows of a table that are read together: their neighbours are asked for next
TOGETHER = 1000  # pages that are read at once, at most
CALLS = "SELECT id, caller, path, class, position, ordinal, ordinals FROM call"
CALL: tuple[Column, ...] = (INTEGER,) * 6
ORIGINS = (Origin.USER, Origin.LIBRARY, Origin.TORCH)
LONGEST_CHAIN = 100_000
MOST_FRAMES = 20_000_000  # in all stacks together: a file of a few megabytes could ask for terabytes

Link = TypeVar("Link")
Asked = TypeVar("Asked", bound=Hashable)
Found = TypeVar("Found")


class Interned:
    """Look-ups by number, each answered from memory the second time."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._pages: dict[tuple[str, int], dict[int, tuple[Any, ...]]] = {}
        self._strings: dict[int, str] = {}
        self._lines: dict[int, list[str]] = {}
        self._sites: dict[int, Site] = {}
        self._stacks: dict[int, Stack] = {0: ()}
        self._frames = 0  # in them
        self._calls: dict[int, ModuleCall | None] = {0: None}
        self._types: dict[int, TensorType] = {}
        self._functions: dict[int, FunctionClass | None] = {0: None}
        self._levels: dict[int, tuple[Level, ...]] = {0: ()}

    def string(self, number: int) -> str:
        """A string."""
        found = self._strings.get(number)
        if found is None:
            self._read_strings((number,))
            found = self._strings.get(number)
            if found is None:
                raise LookupError(f"there is no string {number}")
        return found

    def strings(self, numbers: Sequence[int]) -> list[str]:
        """Many strings."""
        self._read_strings(numbers)
        try:
            return list(map(self._strings.__getitem__, numbers))
        except KeyError as missing:
            raise LookupError(f"there is no string {missing}") from None

    def _read_strings(self, numbers: Iterable[int]) -> None:
        sql = "SELECT id, text FROM string WHERE id BETWEEN ? AND ?"
        for first, last in _pages(numbers, self._strings):
            self._strings.update(zip(*self._rows.columns(sql, (INTEGER, TEXT), first, last), strict=True))

    def name(self, number: int) -> str | None:
        """A string, or None for 0."""
        return self.string(number) if number else None

    def names(self, numbers: Sequence[int]) -> list[str | None]:
        """Many of them."""
        found = iter(self.strings([number for number in numbers if number]))
        return [next(found) if number else None for number in numbers]

    def site(self, number: int) -> Site:
        """A frame, with the text of its line when the recording has it."""
        if number not in self._sites:
            sql = "SELECT id, file, line, function, origin FROM frame"
            file, line, function, origin = self._row(sql, (INTEGER,) * 4, number)
            self._sites[number] = self.place(file, line, function, origin)
        return self._sites[number]

    def place(self, file: int, line: int, function: int, origin: int) -> Site:
        """What a frame's row says."""
        if origin not in range(len(ORIGINS)):
            raise ValueError(f"a frame has origin {origin}")
        return Site(self.string(file), line, self.string(function), self._line(file, line), ORIGINS[origin])

    def stack(self, number: int) -> Stack:
        """A stack, innermost frame first."""
        if number in self._stacks:
            return self._stacks[number]

        def link(stack: int) -> tuple[Any, ...]:
            return self._row("SELECT id, caller, frame FROM stack", (INTEGER, INTEGER), stack)

        return _follow(number, self._stacks, link, self._longer)

    def _longer(self, outer: Stack, frame: int) -> Stack:
        self._frames += len(outer) + 1
        if self._frames > MOST_FRAMES:
            raise ValueError("its stacks are too long to be true")
        return self.site(frame), *outer

    def call(self, number: int) -> ModuleCall | None:
        """A module call, None for 0."""
        if number not in self._calls:
            self._read_calls((number,))
        if number in self._calls:
            return self._calls[number]
        return _follow(number, self._calls, lambda call: self._row(CALLS, CALL, call), self._call)

    def calls(self, numbers: Sequence[int]) -> list[ModuleCall | None]:
        """Many module calls."""
        self._read_calls(numbers)
        for number in set(numbers).difference(self._calls):
            self.call(number)
        return list(map(self._calls.__getitem__, numbers))

    def _read_calls(self, numbers: Iterable[int]) -> None:
        """Make the calls of pages whose callers are known, as nearly all are: a caller is written before."""
        known = self._calls
        for first, last in _pages(numbers, known):
            columns = self._rows.columns(f"{CALLS} WHERE id BETWEEN ? AND ?", (INTEGER, *CALL), first, last)
            ids, callers, paths, classes, *places = columns
            rows = zip(ids, callers, self.strings(paths), self.strings(classes), *places, strict=True)
            for call, caller, path, name, *place in rows:
                if caller in known and call not in known:
                    known[call] = ModuleCall(path, name, known[caller], *place)

    def _call(self, parent: ModuleCall | None, path: int, name: int, *places: int) -> ModuleCall:
        return ModuleCall(self.string(path), self.string(name), parent, *places)

    def type(self, number: int) -> TensorType:
        """A tensor's type."""
        if number not in self._types:
            sql = "SELECT id, shape, dtype, device FROM tensor_type"
            shape, dtype, device = self._row(sql, (TEXT, INTEGER, INTEGER), number)
            self._types[number] = TensorType(integers(shape), self.string(dtype), self.string(device))
        return self._types[number]

    def function(self, number: int) -> FunctionClass | None:
        """A custom Function's class, None for 0."""
        if number not in self._functions:
            sql = "SELECT name, class_frame, backward_frame FROM function WHERE id = ?"
            name, declared, backward = self._rows.one(sql, (INTEGER,) * 3, number)
            self._functions[number] = FunctionClass(
                self.string(name),
                self.site(declared) if declared else None,
                self.site(backward) if backward else None,
            )
        return self._functions[number]

    def levels(self, number: int) -> tuple[Level, ...]:
        """Transform levels, outermost first, from "Grad:1 Vmap:2"."""
        if number not in self._levels:
            pairs = (word.rpartition(":") for word in self.string(number).split())
            self._levels[number] = tuple(Level(kind, int(place)) for kind, _, place in pairs)
        return self._levels[number]

    def source(self, file: int) -> str | None:
        """The whole text of a file of the user's, by the number of its name."""
        found = self._rows.select("SELECT text FROM source WHERE file = ?", (TEXT,), file)
        return next((text for (text,) in found), None)

    def _row(self, sql: str, columns: tuple[Column, ...], number: int) -> tuple[Any, ...]:
        """The row with a number, without it; LookupError when there is none."""
        row = self._page(sql, columns, number).get(number)
        if row is None:
            raise LookupError(f"nothing found by {sql!r} with {number}")
        return row

    def _page(self, sql: str, columns: tuple[Column, ...], number: int) -> dict[int, tuple[Any, ...]]:
        """The rows around a number, by theirs."""
        first = number - number % PAGE
        page = self._pages.get((sql, first))
        if page is None:
            around = self._rows.all(f"{sql} WHERE id BETWEEN ? AND ?", (INTEGER, *columns), first, first + PAGE - 1)
            page = self._pages[sql, first] = {row[0]: row[1:] for row in around}
        return page

    def _line(self, file: int, line: int) -> str | None:
        if file not in self._lines:
            self._lines[file] = list(io.StringIO(self.source(file) or "", newline=None))
        lines = self._lines[file]
        return lines[line - 1].strip() if 1 <= line <= len(lines) else None


def each(look_up: Callable[[Asked], Found], asked: Sequence[Asked]) -> list[Found]:
    """What each of many stands for, where few are different."""
    known = {one: look_up(one) for one in dict.fromkeys(asked)}
    return [known[one] for one in asked]


def _pages(numbers: Iterable[int], known: Mapping[int, object]) -> Iterator[tuple[int, int]]:
    """The pages of those that are not known, each as its first and last number; neighbours are read as one."""
    pages = sorted({number // PAGE for number in set(numbers).difference(known)})
    starts = [place for place, page in enumerate(pages) if not place % TOGETHER or page > pages[place - 1] + 1]
    for start, stop in pairwise((*starts, len(pages))):
        yield pages[start] * PAGE, pages[stop - 1] * PAGE + PAGE - 1


def _follow(
    number: int, known: dict[int, Link], link: Callable[[int], tuple[Any, ...]], make: Callable[..., Link]
) -> Link:
    """Walk outwards by each row's caller to what is known, then build inwards, remembering each step."""
    steps: dict[int, list[Any]] = {}
    while number not in known:
        if number in steps or len(steps) > LONGEST_CHAIN:
            raise ValueError("a chain of callers has no end")
        caller, *steps[number] = link(number)
        number = caller
    found = known[number]
    for step, rest in reversed(steps.items()):
        found = known[step] = make(found, *rest)
    return found
