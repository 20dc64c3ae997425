"""What the commands that report findings share: which findings, in which format, where to, which exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gradscope.commands import options
from gradscope.errors import Exit, UsageError
from gradscope.model.choice import codes
from gradscope.model.finding import Severity
from gradscope.model.report import Report, Verdict
from gradscope.render.report_formats import REPORT_FORMATS, guess_format
from gradscope.render.terminal import encoded

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _known(_: click.Context, __: click.Parameter, text: str) -> str:
    """Refuse what no code begins with: nothing would be found, as if nothing were wrong."""
    for code in codes(text):
        from gradscope.commands.catalogue import CODES  # all tables, which few calls need

        if not any(known.startswith(code) for known in CODES):
            raise UsageError(f"no code begins with {code}", "`gradscope rule` lists them all")
    return text


select: Decorator = click.option(
    "--select",
    metavar="CODES",
    default="",
    callback=_known,
    help="Only these codes or beginnings of codes, comma-separated.",
)
ignore: Decorator = click.option(
    "--ignore", metavar="CODES", default="", help="Not these codes or beginnings of codes."
)
fmt: Decorator = click.option(
    "--fmt",
    type=click.Choice(list(REPORT_FORMATS)),
    help="How to write the report.  [default: text, or by OUTPUT's suffix]",
)
output: Decorator = click.option("-o", "--output", default="-", help="Write the report here; - is standard output.")
force: Decorator = click.option("-f", "--force", is_flag=True, help="Overwrite OUTPUT.")
fail_on: Decorator = click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "never"]),
    default="error",
    show_default=True,
    help="Exit with 1 from this severity on.",
)
exit_zero: Decorator = click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")


def write(report: Report, form: str | None, output: str, force: bool) -> None:
    """To standard output, or to a file that is not overwritten unless asked."""
    width = options.text_width(options.to_terminal(output))
    put(REPORT_FORMATS[form or guess_format(output)].render(report, width), output, force)


def put(text: str, output: str, force: bool) -> None:
    """A text to standard output, or to a file that is not overwritten unless asked."""
    options.check_output(output, force)
    if output == "-":
        colored = options.wants_color("auto", output)
        shown = text if colored else click.unstyle(text)
        click.echo(encoded(shown, sys.stdout.encoding or "utf-8"), nl=False, color=colored or None)
        return
    path = Path(output)
    try:
        path.write_text(click.unstyle(text), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def exit_status(report: Report, fail_on: str) -> int:
    """1 for findings, 4 when something could not be checked, 0 otherwise."""
    if fail_on != "never" and report.at_least(Severity(fail_on)):
        return Exit.FINDINGS
    unchecked = any(subject.verdict is Verdict.NOT_CHECKED or subject.inputs is None for subject in report.subjects)
    return Exit.NOTHING_CHECKED if unchecked or report.left_out or report.unimported else Exit.OK
