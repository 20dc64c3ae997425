"""The configuration that `check-function --init` writes: a table for each Function, from what a check found."""

from __future__ import annotations

import json

from gradscope.model.finding import Severity
from gradscope.model.report import Report, SubjectReport

WHY = "found by --init: say why it may stay, or mend it"


def render(report: Report) -> str:
    """All tables."""
    head = "# What gradscope check-function shall know of these Functions; see `gradscope check-function --help`.\n"
    return "\n".join([head, *(table(report, subject) for subject in report.subjects)])


def table(report: Report, subject: SubjectReport) -> str:
    """One Function: its inputs, what is taken as meant, and the findings there are, each to be given a reason."""
    lines = [f"[tool.gradscope.functions.{quoted(subject.function)}]"]
    if subject.inputs is None:
        lines.append(f"skip = {quoted('; '.join(subject.not_checked) or 'not checked')}")
    if subject.spec:
        lines.append(f"inputs = {quoted(subject.spec)}  # {subject.inputs.value if subject.inputs else ''}")
    elif subject.inputs:
        lines.append('# inputs = "pkg.mod:factory"  # what was tried cannot be written as a spec')
    lines += [f"{name} = {value}" for name, value in subject.meant]
    told = dict.fromkeys(f.code for f in report.of(subject.function) if f.severity is not Severity.INFO)
    if told:
        lines.append("ignore = { " + ", ".join(f"{code} = {quoted(WHY)}" for code in told) + " }")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A TOML string, which is written as JSON's are."""
    return json.dumps(text, ensure_ascii=False)
