"""Interns what repeats in a recording: a text, a line, a stack gets its number once."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Sequence

from gradscope.store.origin import origin_of
from gradscope.store.output import Row
from gradscope.store.retention import Gone
from gradscope.store.room import Room


class Interning:
    """The part of a Writer that interns; ids start at 1, and 0 stands for "none"."""

    def __init__(self, lock: threading.RLock, room: Room) -> None:
        self._lock, self._room = lock, room
        self._ids: dict[str, dict[object, int]] = {}
        self._numbers: dict[str, itertools.count[int]] = {}  # of interned rows

    def add(self, table: str, row: Row) -> None:
        """Append one row."""
        raise NotImplementedError

    def string(self, text: str) -> int:
        """Intern a text."""
        known = self._ids.get("string", {}).get(text)
        return known or self._intern("string", text, (text.encode("utf-8", "replace").decode(),))

    def frame(self, file: str, line: int, function: str) -> int:
        """Intern a line of code, and say whose it is."""
        return self._intern(
            "frame", (file, line, function), (self.string(file), line, self.string(function), origin_of(file))
        )

    def stack(self, caller: int, frame: int) -> int:
        """Intern a stack: its innermost frame over its caller's stack."""
        return self._intern("stack", (caller, frame), (caller, frame))

    def call(self, caller: int, path: str, module_class: str, position: int, ordinal: int, ordinals: int) -> int:
        """Intern a module call."""
        row = (caller, self.string(path), self.string(module_class), position, ordinal, ordinals)
        return self._intern("call", row, row)

    def tensor_type(self, shape: Sequence[int], dtype: str, device: str) -> int:
        """Intern a tensor's shape, dtype and device."""
        row = (json.dumps(list(shape)), self.string(dtype), self.string(device))
        return self._intern("tensor_type", row, row)

    def function(self, name: str, class_frame: int, backward_frame: int) -> int:
        """Intern a custom autograd.Function."""
        row = (self.string(name), class_frame, backward_frame)
        return self._intern("function", row, row)

    def known(self, table: str, key: bytes) -> int:
        """The id under which content with this key is stored, 0 for none."""
        found = self._ids.get(table, {}).get(key, 0)
        self._room.ask_for(table, found)
        return found

    def number(self, table: str) -> int:
        """A new id for content of a table."""
        with self._lock:
            return next(self._numbers.setdefault(table, itertools.count(1)))

    def remember(self, table: str, key: bytes, number: int) -> None:
        """Content with this key is stored under this id from now on."""
        self._room.ask_for(table, number)
        with self._lock:
            self._ids.setdefault(table, {})[key] = number

    def _unlearn(self, gone: Gone) -> None:
        """Content is not stored any more."""
        with self._lock:
            for table, numbers in gone.items():
                known = self._ids.get(table, {})
                self._ids[table] = {key: number for key, number in known.items() if number not in numbers}

    def _intern(self, table: str, key: object, row: Row) -> int:
        """An id is known only once its row waits: a signal handler of the program may raise in between."""
        known = self._ids.setdefault(table, {})
        found = known.get(key)
        if found is None:
            with self._lock:
                found = known.get(key)
                if found is None:
                    found = next(self._numbers.setdefault(table, itertools.count(1)))
                    self.add(table, (found, *row))
                    known[key] = found
        return found
