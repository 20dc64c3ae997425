"""The formats of a report. Choices of `--fmt` and the tests derive from this table."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from gradscope.model.report import Report


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A name for `--fmt`, the suffix that `-o` guesses it from, and the module of this room that writes it.

    `wraps`: it is for people, and its lines end where the page does.
    """

    name: str
    suffix: str
    module: str
    wraps: bool = False

    def render(self, report: Report, width: int | None = None) -> str:
        """Write a report, for a page of so many columns where there is one.

        Only then is the module loaded: one format is asked for, and some need much.
        """
        page = (width,) if self.wraps and width is not None else ()
        written: str = importlib.import_module(f"gradscope.render.{self.module}").render(report, *page)
        return written


REPORT_FORMATS = {
    chosen.name: chosen
    for chosen in (
        ReportFormat("text", ".txt", "report_summary", wraps=True),
        ReportFormat("details", "", "report_text", wraps=True),
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
