"""Every error that gradscope shows to a user, and the exit statuses.

GradscopeError           one sentence, a hint, an exit status; caught once, in cli.py
|-- UsageError           the command line asks for something that cannot be (2)
|-- UnreadableError      not a recording, empty, cut short, damaged or too new (3)
|-- NothingCheckedError  the command worked, but there was nothing it could check (4)
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager


class Exit(enum.IntEnum):
    """Exit statuses of every command; `trace` passes on the script's own instead."""

    OK = 0
    FINDINGS = 1  # worked, and found something at or above --fail-on
    USAGE = 2  # click's own number for bad arguments
    UNREADABLE = 3  # the input file cannot be read
    NOTHING_CHECKED = 4  # nothing could be checked
    INTERNAL = 70  # a bug in gradscope: a traceback and where to report it


class GradscopeError(Exception):
    """A problem that the user can understand and mend."""

    exit_status = Exit.USAGE

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint


class UsageError(GradscopeError):
    """The command line asks for something that cannot be."""


class UnreadableError(GradscopeError):
    """The input is not a recording that this version can read."""

    exit_status = Exit.UNREADABLE


class NothingCheckedError(GradscopeError):
    """There was nothing that could be checked."""

    exit_status = Exit.NOTHING_CHECKED


@contextmanager
def noted(mistakes: list[Exception] | None) -> Iterator[None]:
    """Put a mistake of our own aside, so that it takes nothing else along; raise it where there is nothing to note it
    in. What a user can mend is raised at once."""
    try:
        yield
    except GradscopeError:
        raise
    except Exception as mistake:
        if mistakes is None:
            raise
        mistakes.append(mistake)
