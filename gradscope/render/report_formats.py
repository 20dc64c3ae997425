"""The formats of a report. Choices of `--fmt` and the tests derive from this table."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from gradscope.model.report import Report


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A name for `--fmt`, the suffix that `-o` guesses it from, and the module of this room that writes it."""

    name: str
    suffix: str
    module: str

    def render(self, report: Report) -> str:
        """Write a report. Only then is the module loaded: one format is asked for, and some need much."""
        written: str = importlib.import_module(f"gradscope.render.{self.module}").render(report)
        return written


REPORT_FORMATS = {
    chosen.name: chosen
    for chosen in (
        ReportFormat("text", ".txt", "report_summary"),
        ReportFormat("details", "", "report_text"),
        ReportFormat("markdown", ".md", "markdown"),
        ReportFormat("json", ".json", "report_json"),
        ReportFormat("sarif", ".sarif", "sarif"),
        ReportFormat("junit", ".xml", "junit"),
        ReportFormat("github", "", "github"),
    )
}


def guess_format(filename: str) -> str:
    """The format whose suffix the file name has, else text."""
    return next((f.name for f in REPORT_FORMATS.values() if f.suffix and filename.endswith(f.suffix)), "text")
