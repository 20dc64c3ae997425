"""Is there when a thread of the program begins: dispatch modes and torch's node hook are each thread's own."""

from __future__ import annotations

import contextlib
import threading

from gradscope.probes.core.context import Context
from gradscope.torch_internals.find import Replacement


class ThreadStarts:
    """Enters what waits for the event in every thread that begins, for as long as it runs."""

    def __init__(self, context: Context) -> None:
        self._around = context.events.thread_begins
        self._place = Replacement("threading.Thread._bootstrap_inner")

    def __enter__(self) -> ThreadStarts:
        bootstrap, around = self._place.original, self._around

        def bootstrap_inner(thread: threading.Thread) -> None:
            with contextlib.ExitStack() as entered:
                for each in around:
                    entered.enter_context(each())
                bootstrap(thread)

        bootstrap_inner.__name__ = getattr(bootstrap, "__name__", bootstrap_inner.__name__)
        bootstrap_inner.__qualname__ = getattr(bootstrap, "__qualname__", bootstrap_inner.__qualname__)
        self._place.put(bootstrap_inner)
        return self

    def __exit__(self, *error: object) -> None:
        self._place.restore()
