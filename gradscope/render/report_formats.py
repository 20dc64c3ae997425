"""The formats of a report. Choices of `--fmt` and the tests derive from this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradscope.model.report import Report
from gradscope.render import github, junit, markdown, report_json, report_summary, report_text, sarif


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A name for `--fmt`, the suffix that `-o` guesses it from, and what writes it."""

    name: str
    suffix: str
    render: Callable[[Report], str]


REPORT_FORMATS = {
    chosen.name: chosen
    for chosen in (
        ReportFormat("text", ".txt", report_summary.render),
        ReportFormat("details", "", report_text.render),
        ReportFormat("markdown", ".md", markdown.render),
        ReportFormat("json", ".json", report_json.render),
        ReportFormat("sarif", ".sarif", sarif.render),
        ReportFormat("junit", ".xml", junit.render),
        ReportFormat("github", "", github.render),
    )
}


def guess_format(filename: str) -> str:
    """The format whose suffix the file name has, else text."""
    return next((f.name for f in REPORT_FORMATS.values() if f.suffix and filename.endswith(f.suffix)), "text")
