"""Says on standard error what went wrong in a recording, at the end of a run or of a window of it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gradscope.commands import options
from gradscope.commands.collector import paused

STDERR = 2


def tell(path: Path) -> bool:
    """Print what went wrong, and answer whether anything did.

    The program's own status stays: a recording that cannot be explained is no failure.
    """
    from gradscope.anomaly import explain
    from gradscope.errors import GradscopeError
    from gradscope.render.report_text import WIDTH, render
    from gradscope.store.reader import load

    try:
        with load(path) as recording, paused():
            report = explain(recording)
    except GradscopeError as error:
        options.talk(f"nothing is explained: {error.sentence}")
        return False
    except Exception as error:  # ours: it must not look like the program's
        options.talk(f"nothing is explained, because of a bug in gradscope ({type(error).__name__}: {error})")
        return False
    if report.findings:
        click.echo(render(report, options.text_width(os.isatty(STDERR)) or WIDTH), err=True)
    elif report.gap is not None:
        options.talk(report.gap)
    return bool(report.findings)
