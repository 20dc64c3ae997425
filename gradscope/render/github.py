"""A report as GitHub workflow commands, which put findings beside the lines of a pull request."""

from __future__ import annotations

from pathlib import Path

from gradscope.model.finding import Finding, Severity
from gradscope.model.report import Report

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """A line for each finding, and one for what was left out."""
    gap = [f"::notice title=gradscope::{message(report.gap)}"] if report.gap is not None else []
    return "".join(one + "\n" for one in (*map(line, report.findings), *gap))


def line(finding: Finding) -> str:
    """One workflow command."""
    properties = {"title": f"{finding.code} {finding.name}"}
    if finding.site is not None:
        path = Path(finding.site.file)
        name = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        properties = {"file": name.as_posix(), "line": str(finding.site.line)} | properties
    listed = ",".join(f"{key}={property_value(value)}" for key, value in properties.items())
    prefix = f"{finding.function}: " if finding.function else ""
    return f"::{COMMANDS[finding.severity]} {listed}::{message(f'{prefix}{finding.message}. {finding.advice}'.strip())}"


def message(text: str) -> str:
    """Text with the characters escaped that end a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def property_value(text: str) -> str:
    """As a message, and without what separates properties."""
    return message(text).replace(":", "%3A").replace(",", "%2C")
