"""Says on a terminal what goes on when it takes more than a second; nothing anywhere else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gradscope.model.printable import printable

AFTER = 1.0  # seconds


@contextmanager
def waiting(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Gives a function to call with what is being done; after a second it shows, with the time that passed."""
    if quiet or not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("gradscope: {task.description}", markup=False), BarColumn(20), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task("reading", total=None)
    timer = threading.Timer(AFTER, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda words: progress.update(task, description=printable(words))
    finally:
        timer.cancel()
        timer.join()
        progress.stop()


def _nothing(words: str) -> None:
    pass
