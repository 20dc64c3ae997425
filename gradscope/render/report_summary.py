"""A report on many Functions on one screen: counts, and a line for each that has errors or warnings or no check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import click

from gradscope.model.finding import Finding, Severity
from gradscope.model.report import Report, SubjectReport, Unimported, Verdict
from gradscope.render import report_text
from gradscope.render.report_text import COLOURS, count, place

FEW = 6  # Functions whose details fit on a screen
LINES = 16  # of one section
WIDTH = 120  # columns where it is for no terminal
NAME = 34  # columns for a Function's name; more where a longer one is shown


@dataclass(frozen=True, slots=True)
class Row:
    """One Function in a table: its worst finding, or what there is to say, and how many more findings it has."""

    subject: SubjectReport
    finding: Finding | None
    more: int
    text: str


def render(report: Report, width: int | None = None) -> str:
    """All details of a few Functions; of many, a summary."""
    if len(report.subjects) <= FEW and not report.unimported:
        return report_text.render(report, width or report_text.WIDTH)
    blocks = [[headline(report)], *(section(title, lines) for title, lines in sections(report, width or WIDTH))]
    shown = "\n\n".join("\n".join(block) for block in blocks if block)
    return f"{shown}\n\ndetails: --fmt details, or the name of one Function\n"


def headline(report: Report) -> str:
    """The counts in one line."""
    verdicts = Counter(subject.verdict for subject in report.subjects)
    parts = [f"{len(report.subjects)} Functions: {verdicts[Verdict.OK]} ok", count(report.findings)]
    parts += [f"{verdicts[Verdict.NOT_CHECKED]} not checked"] * bool(verdicts[Verdict.NOT_CHECKED])
    parts += [f"{len(report.unimported)} modules not imported"] * bool(report.unimported)
    return click.style(", ".join(filter(None, parts)), bold=True)


def sections(report: Report, width: int) -> Iterator[tuple[str, list[str]]]:
    """The sections in order, worst first."""
    for severity in (Severity.ERROR, Severity.WARNING):
        rows = [row for row in rows_of(report) if row.finding and row.finding.severity is severity]
        widest = max((len(short(row.subject)) for row in rows[:LINES]), default=0)
        lines = [row_line(row, max(NAME, widest), width) for row in rows]
        yield click.style(f"{severity.value}s", fg=COLOURS[severity]), lines
    unchecked = [row for row in rows_of(report) if row.subject.verdict is Verdict.NOT_CHECKED]
    yield "not checked", [cut(f"  {short(row.subject):{NAME}}  {row.text}", width) for row in unchecked]
    yield "not to be checked", [cut(f"  {one.function:{NAME}}  {one.reason}", width) for one in report.unchecked]
    yield "not imported", list(by_reason(report.unimported, width))


def by_reason(modules: Iterable[Unimported], width: int) -> Iterator[str]:
    """A line for each reason, with the modules that could not be imported: one missing package stops many."""
    reasons: dict[str, list[str]] = {}
    for one in modules:
        reasons.setdefault(one.reason, []).append(one.module)
    for reason, names in reasons.items():
        how_many = f"{len(names)} modules: " * (len(names) > 1)
        yield cut(f"  {reason}: {how_many}{', '.join(names)}", width)


def section(title: str, lines: list[str]) -> list[str]:
    """A title and its lines, as many as fit on a screen."""
    rest = [f"  and {len(lines) - LINES} more"] * (len(lines) > LINES)
    return [title, *lines[:LINES], *rest] if lines else []


def rows_of(report: Report) -> Iterator[Row]:
    """A row for each Function."""
    for subject in report.subjects:
        findings = report.of(subject.function)
        worst = next(iter(findings), None)
        more = sum(one.severity is not Severity.INFO for one in findings) - 1
        yield Row(subject, worst, max(more, 0), "; ".join(subject.not_checked))


def row_line(row: Row, name: int, width: int) -> str:
    """Code, name, message and place of a Function's worst finding."""
    assert row.finding is not None
    where = f"  {place(row.finding.site).rpartition('/')[2]}" if row.finding.site else ""
    more = f" (+{row.more})" if row.more else ""
    head = f"  {row.finding.code} {short(row.subject):{name}}  "
    room = max(width - len(head) - len(where) - len(more), 20)
    return head + cut(row.finding.message, room) + more + where


def short(subject: SubjectReport) -> str:
    """The last two parts of a Function's name: a module's own name and the class's."""
    return ".".join(subject.function.split(".")[-2:])


def cut(text: str, width: int = WIDTH) -> str:
    """A text in one line that is not wider."""
    line = " ".join(text.split()) if not text.startswith(" ") else text.replace("\n", " ")
    return line if len(line) <= width else line[: width - 3] + "..."
