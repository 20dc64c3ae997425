"""What repeats in a page is stored once: strings, frames, stacks, types, module calls. Row 0 of each means none."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from gradscope.model.graph import FunctionClass
from gradscope.model.hook import Hook
from gradscope.model.module import ModuleCall
from gradscope.model.printable import printable
from gradscope.model.site import Origin, Site, Stack
from gradscope.model.tensor import TensorType
from gradscope.view.words import short_file

ORIGINS = tuple(Origin)


class NumberedRows:
    """Rows that are known by their numbers, from 1."""

    def __init__(self, nothing: Any) -> None:
        self.rows: list[Any] = [nothing]
        self._numbers: dict[Hashable, int] = {}

    def number(self, row: Hashable) -> int:
        """The number of a row: a new one, or the one that it already has."""
        found = self._numbers.get(row)
        if found is None:
            found = self._numbers[row] = len(self.rows)
            self.rows.append(row)
        return found


class PageTables:
    """Every table of a page; each method gives the number of a thing, 0 for None."""

    def __init__(self, folder: str = "") -> None:
        self.strings = NumberedRows("")
        self.frames = NumberedRows((0, 0, 0, 0))
        self.stacks = NumberedRows((0, 0))
        self.calls = NumberedRows((0, 0, 0, 0))
        self.functions = NumberedRows((0, 0, 0))
        self.lists = NumberedRows(())
        self.hooks: dict[int, tuple[int, ...]] = {}
        self.files: dict[int, int] = {}  # the short name of each file
        self.folder = folder
        self._texts: dict[str, int] = {}
        self._types: dict[int, tuple[TensorType, int]] = {}
        self._stacks: dict[int, tuple[Stack, int]] = {}
        self._calls: dict[int, tuple[ModuleCall, int]] = {}

    def string(self, text: str | None) -> int:
        """A text, with control characters escaped."""
        if not text:
            return 0
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = self.strings.number(printable(text))
        return found

    def frame(self, site: Site | None) -> int:
        """A line of code."""
        if site is None:
            return 0
        file = self.string(site.file)
        if file not in self.files:
            self.files[file] = self.string(short_file(site.file, self.folder))
        row = (file, site.line, self.string(site.function), ORIGINS.index(site.origin))
        return self.frames.number(row)

    def stack(self, stack: Stack) -> int:
        """A stack, which is its innermost frame and the stack around that; found again by identity, which is quick."""
        known = self._stacks.get(id(stack))
        if known is not None:
            return known[1]
        number = 0
        for site in reversed(stack):
            number = self.stacks.number((self.frame(site), number))
        self._stacks[id(stack)] = stack, number  # held, so that no other gets its identity
        return number

    def call(self, call: ModuleCall | None) -> int:
        """A module call: label, path, class, and the call around it."""
        if call is None:
            return 0
        known = self._calls.get(id(call))
        if known is not None:
            return known[1]
        number = 0
        for link in call.chain:
            words = (self.string(link.words), self.string(link.path), self.string(link.module_class))
            number = self.calls.number((*words, number))
        self._calls[id(call)] = call, number
        return number

    def type(self, kind: TensorType | None) -> int:
        """A tensor's type, as the text that people read."""
        if kind is None:
            return 0
        known = self._types.get(id(kind))
        if known is None:
            known = self._types[id(kind)] = kind, self.string(str(kind))
        return known[1]

    def function(self, function: FunctionClass | None) -> int:
        """The class of a custom Function."""
        if function is None:
            return 0
        sites = (self.frame(function.class_site), self.frame(function.backward_site))
        return self.functions.number((self.string(function.name), *sites))

    def list(self, values: Sequence[Any]) -> int:
        """A list that may repeat as a whole."""
        return self.lists.number(tuple(values)) if values else 0

    def hook(self, hook: Hook) -> int:
        """A hook; known by the number that it has in the run."""
        if hook.number not in self.hooks:
            words = (self.string(hook.kind), self.string(hook.name), self.string(hook.on), self.stack(hook.stack))
            self.hooks[hook.number] = words
        return hook.number

    def contents(self) -> dict[str, Any]:
        """The tables as they stand in the page."""
        return {
            "strings": self.strings.rows,
            "frames": self.frames.rows,
            "files": list(self.files.items()),
            "stacks": self.stacks.rows,
            "calls": self.calls.rows,
            "functions": self.functions.rows,
            "lists": self.lists.rows,
            "hooks": [[number, *row] for number, row in self.hooks.items()],
        }


def lines(text: str) -> str:
    """A text of several lines, with control characters escaped in each."""
    return "\n".join(printable(line.expandtabs(4)) for line in text.splitlines())


def steps(numbers: Sequence[int]) -> list[int]:
    """Each number less the one before it: evenly growing numbers then compress to almost nothing."""
    return [number - before for number, before in zip(numbers, [0, *numbers], strict=False)]
