"""A report as a Markdown table, for the text of a pull request."""

from __future__ import annotations

from collections.abc import Iterable

import click

from gradscope.model.finding import Finding, Severity
from gradscope.model.report import Report, Verdict
from gradscope.render.report_summary import headline
from gradscope.render.report_text import count, place


def render(report: Report) -> str:
    """A table for a pull request: a row for each finding that is more than a note, and what was not checked."""
    told = [finding for finding in report.findings if finding.severity is not Severity.INFO]
    rows = [
        (finding.severity.value, finding.code, finding.function or "", finding.message, site_text(finding))
        for finding in told
    ]
    rows += [
        ("not checked", "", subject.function, "; ".join(subject.not_checked), "")
        for subject in report.subjects
        if subject.verdict is Verdict.NOT_CHECKED
    ]
    rows += [("not imported", "", one.module, one.reason, "") for one in report.unimported]
    title = click.unstyle(headline(report)) if report.subjects else count(told) or "nothing found"
    return f"**gradscope** {title}\n" + ("\n" + table(rows) if rows else "")


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Rows as Markdown."""
    lines = ["| | code | Function | what | where |", "| --- | --- | --- | --- | --- |"]
    lines += ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def site_text(finding: Finding) -> str:
    """The line of a finding."""
    return place(finding.site) if finding.site else ""


def escaped(text: str) -> str:
    """A cell's text: in one line, with what Markdown and HTML would read taken literally."""
    line = " ".join(text.split())
    for mark in ("\\", "|", "`", "*", "_", "[", "]"):
        line = line.replace(mark, "\\" + mark)
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
