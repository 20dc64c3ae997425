"""How a recording is asked: work on what it tells is done when it is asked for, and once where answers are kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from gradscope.store.backward_reader import BackwardReader
from gradscope.store.file import OpenFile, damage_is_one_sentence
from gradscope.store.interned import Interned
from gradscope.store.rows import Rows

Asker = TypeVar("Asker", bound="Asked")
Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class OpenTables:
    """An open file, and what reads its rows."""

    file: OpenFile
    rows: Rows
    interned: Interned
    backwards: BackwardReader

    @classmethod
    def of(cls, file: OpenFile) -> OpenTables:
        """The tables of an open file."""
        rows = Rows(file.connection)
        interned = Interned(rows)
        return cls(file, rows, interned, BackwardReader(rows, interned))


class Asked:
    """An open recording. With `answers` what is asked of it is worked out once, and kept there by the function."""

    answers: dict[Hashable, Any] | None = None

    def __init__(self, tables: OpenTables) -> None:
        self.tables = tables
        self._rows, self._interned, self._backwards = tables.rows, tables.interned, tables.backwards

    def pace(self, new: bool = False) -> None:
        """Called whenever something is asked, `new` or known, and at each step of a long walk: a place to stop a
        question that takes too long."""

    @property
    def path(self) -> Path:
        """Where the recording lies."""
        return self.tables.file.path


def kept(work: Callable[[Asker], Told]) -> Callable[[Asker], Told]:
    """Do some work on facts only once, where the facts keep their answers as those of a Case do."""

    @wraps(work)
    def once(facts: Asker) -> Told:
        if facts.answers is None:
            return work(facts)
        new = work not in facts.answers
        facts.pace(new)
        if new:
            facts.answers[work] = work(facts)
        answer: Told = facts.answers[work]
        return answer

    return once


def fact(read: Callable[[Asker], Told]) -> Callable[[Asker], Told]:
    """A read without arguments, kept like any work on facts; damage that it meets becomes one sentence."""

    @wraps(read)
    def guarded(facts: Asker) -> Told:
        with damage_is_one_sentence(facts.path):
            return read(facts)

    return kept(guarded)
