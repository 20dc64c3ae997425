"""A report for people: for each Function a verdict, what ran on which inputs, and each finding with its line and fix.

The text carries colours; click takes them out where the output is no terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from gradscope.model.failure import Failure
from gradscope.model.finding import Confidence, Finding, Related, Severity
from gradscope.model.printable import printable
from gradscope.model.report import Report, Status, SubjectReport, Unchecked, Verdict
from gradscope.model.site import Site
from gradscope.view.words import role_words

WIDTH = 100  # columns where it is for no terminal
TELLING = ("values", "torch.func")  # the families of trials whose details are worth a line when all is well
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
STATUS_COLOURS = {Status.OK: "green", Status.WRONG: "red", Status.RAISES: "red"}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text that is broken where the page ends: what stands before its first row, and before the others."""

    text: str
    first: str
    rest: str

    def rows(self, width: int) -> list[str]:
        """It on a page of so many columns."""
        before, after = " " * len(click.unstyle(self.first)), self.rest
        rows = textwrap.wrap(self.text, width, initial_indent=before, subsequent_indent=after, break_long_words=False)
        return [self.first + row[len(before) :] if number == 0 else row for number, row in enumerate(rows)]


Line = str | Paragraph


def render(report: Report, width: int = WIDTH) -> str:
    """The whole report."""
    blocks: list[list[Line]] = [subject_block(subject, report.of(subject.function)) for subject in report.subjects]
    if not report.subjects:
        blocks = [finding_lines(finding) for finding in report.findings] or [["nothing found"]]
    if len(report.subjects) > 1:
        blocks.append([totals(report)])
    if report.unimported:
        blocks.append(["not imported:", *(f"  {one.module}: {one.reason}" for one in report.unimported)])
    told = (
        ended(report.unexplained),
        functions_checked(report.checked),
        functions_unchecked(report.unchecked),
        report.gap,
    )
    blocks += [[paragraph(printable(text))] for text in told if text]
    return "\n\n".join("\n".join(laid_out(block, width)) for block in blocks) + "\n"


def laid_out(lines: Iterable[Line], width: int) -> Iterator[str]:
    """Lines on a page of so many columns."""
    for line in lines:
        yield from [line] if isinstance(line, str) else line.rows(width)


def ended(failure: Failure | None) -> str:
    """What ended the run, where nothing that was found explains it."""
    if failure is None:
        return ""
    where = f" at {place(failure.site)}" if failure.site is not None else ""
    message = textwrap.shorten(failure.message, WIDTH * 2, placeholder=" ...")
    return f"not explained: the run ended with {failure.kind}{': ' * bool(message)}{message}{where}"


def functions_checked(names: tuple[str, ...]) -> str:
    """Which custom Functions of the run were tried."""
    return f"custom Functions that were checked: {', '.join(names)}" if names else ""


def functions_unchecked(ones: tuple[Unchecked, ...]) -> str:
    """Which ones were not, and why, or how they would be."""
    told = ", ".join(f"{one.function} ({one.reason})" if one.reason else one.function for one in ones)
    hint = "" if any(one.reason for one in ones) else "; `gradscope explain --check-functions` tries them"
    return f"custom Functions that were not checked: {told}{hint}" if ones else ""


def subject_block(subject: SubjectReport, findings: tuple[Finding, ...]) -> list[Line]:
    """One Function: verdict, inputs, trials, findings, gaps."""
    where = f"  ({place(subject.site)})" if subject.site else ""
    lines: list[Line] = [f"{click.style(subject.function, bold=True)}{where}: {verdict_text(subject, findings)}"]
    if subject.inputs:
        lines.append(paragraph(f"inputs {subject.inputs.value}: {subject.rests_on}"))
    lines += trial_lines(subject)
    for finding in findings:
        lines += ["", *finding_lines(finding)]
    if subject.ignored:
        lines += ["", f"  {subject.ignored} silenced by comments in the source or by the configuration"]
    return lines + [paragraph(f"not checked: {gap}") for gap in subject.not_checked]


def verdict_text(subject: SubjectReport, findings: tuple[Finding, ...]) -> str:
    """The verdict in a few words."""
    if subject.verdict is Verdict.NOT_CHECKED:
        return click.style("not checked", fg="yellow", bold=True)
    counted = count(findings)
    if subject.verdict is Verdict.OK:
        return click.style("ok", fg="green", bold=True) + (f", {counted}" if counted else "")
    return click.style(counted, fg=COLOURS[findings[0].severity] if findings else None, bold=True)


def count(findings: Iterable[Finding]) -> str:
    """For instance "2 errors, 1 warning, 3 notes"."""
    found = list(findings)
    words = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "note"))
    numbers = [(sum(f.severity is severity for f in found), word) for severity, word in words]
    return ", ".join(f"{number} {word}{'s' if number > 1 else ''}" for number, word in numbers if number)


def trial_lines(subject: SubjectReport) -> list[Line]:
    """The trials by family and status; those that were not run are left to the gaps."""
    lines: list[Line] = []
    for group in dict.fromkeys(result.group for result in subject.trials.values()):
        for status in (Status.OK, Status.WRONG, Status.RAISES, Status.NOT_APPLICABLE):
            names = [
                name for name, result in subject.trials.items() if result.group == group and result.status is status
            ]
            if names:
                label = f"  {group:<11}{click.style(f'{status.value:<7}', fg=STATUS_COLOURS.get(status))}"
                lines.append(Paragraph(" ".join(names), label, " " * 20))
    return ["", *lines, *detail_lines(subject)] if lines else []


def detail_lines(subject: SubjectReport) -> list[Line]:
    """What trials that are right have to say: which randomness modes work, what is wrong by design."""
    return [
        paragraph(f"{name}: {result.detail}")
        for name, result in subject.trials.items()
        if result.detail
        and result.group in TELLING
        and (result.status is Status.OK or result.detail.startswith("by design"))
    ]


def finding_lines(finding: Finding) -> list[Line]:
    """One finding: code and place, the message, the line, the fix."""
    head = click.style(f"{finding.code} {finding.severity.value}", fg=COLOURS[finding.severity], bold=True)
    sure = " (likely)" * (finding.confidence is Confidence.LIKELY and finding.severity is not Severity.INFO)
    lines: list[Line] = [f"  {head} {finding.name}{sure}" + (f"  {place(finding.site)}" if finding.site else "")]
    lines.append(paragraph(finding.message, 6))
    if finding.severity is Severity.INFO:
        return lines
    if finding.site and finding.site.source:
        lines.append(click.style(f"      > {finding.site.source}", dim=True))
    for related in finding.related:
        lines += related_lines(related)
    return lines + [paragraph(f"fix: {finding.advice}", 6)] * bool(finding.advice)


def related_lines(related: Related) -> list[Line]:
    """Another place of a finding: its role, what is there, the line."""
    where = f"  {place(related.site)}" if related.site else ""
    line = paragraph(f"{role_words(related.role)}: {related.what}".rstrip(": ") + where, 6)
    source = related.site.source if related.site else None
    return [line, *[click.style(f"        > {source}", dim=True)] * bool(source)]


def paragraph(text: str, indent: int = 2) -> Paragraph:
    """Indented text, what follows its first row a little more."""
    return Paragraph(text, " " * indent, " " * (indent + 2))


def place(site: Site) -> str:
    """file:line, the file relative to the working directory when it is inside."""
    path = Path(site.file)
    return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:{site.line}"


def totals(report: Report) -> str:
    """The last line when there are several Functions."""
    fine = sum(subject.verdict is Verdict.OK for subject in report.subjects)
    unchecked = sum(subject.verdict is Verdict.NOT_CHECKED for subject in report.subjects)
    parts = [f"{len(report.subjects)} Functions: {fine} ok"]
    parts += [f"{unchecked} not checked"] * bool(unchecked)
    parts += [count(report.findings)] * bool(report.findings)
    return ", ".join(parts)
