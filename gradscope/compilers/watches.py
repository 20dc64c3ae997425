"""What a recording enters to look on at torch's compilers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from gradscope.compilers.compiled import CompiledWatch
from gradscope.compilers.joint import RegionWatch
from gradscope.compilers.lines import Whose
from gradscope.torch_internals.lacks import require

Write = Callable[[Any], None]


def watches(
    joint: Write | None,
    compiled: Write | None,
    note: Callable[[str, Exception], None],
    whose: Whose,
    threads: Any,
) -> Iterator[tuple[str, AbstractContextManager[object]]]:
    """A name and a context for each of the two that is wanted: it has something to write with.

    `note` is told of faults, by name; `threads` knows the backward call that runs in the current one.
    """

    def backward() -> int | None:
        call = threads.current.backward
        return None if call is None else int(call.number)

    def fault(name: str) -> Callable[[Exception], None]:
        return lambda error: note(name, error)

    if joint is not None:
        yield "joint", RegionWatch(joint, fault("joint"), whose, own=True).entered()
    if compiled is not None:
        watch = CompiledWatch(compiled, fault("compiled autograd"), whose, backward)
        yield "compiled autograd", watch.entered()


def check(joint: bool, compiled: bool) -> None:
    """Raise UsageError when this torch lacks what one of them looks at."""
    require(*(["joint"] if joint else []), *(["compiled autograd"] if compiled else []))
