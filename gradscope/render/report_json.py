"""A report as one JSON object: the machine-readable contract, "format": 1. Absent facts are left out, never null."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from gradscope.model.finding import Finding, Related
from gradscope.model.report import Report, SubjectReport
from gradscope.model.site import Site
from gradscope.version import __version__

FORMAT = 1


def render(report: Report) -> str:
    """The whole report."""
    return json.dumps(as_object(report), indent=2, ensure_ascii=False) + "\n"


def as_object(report: Report) -> dict[str, Any]:
    """The report as plain data."""
    content: dict[str, Any] = {"format": FORMAT, "gradscope": __version__, "torch": report.torch}
    if report.recording is not None:
        content["recording"] = report.recording
    content["findings"] = [finding_object(finding) for finding in report.findings]
    if report.left_out:
        content["left_out"] = list(report.left_out)
    if (failure := report.unexplained) is not None:
        site = None if failure.site is None else site_object(failure.site)
        content["unexplained"] = {"exception": failure.kind, "message": failure.message, "site": site}
    if report.checked:
        content["checked"] = list(report.checked)
    if report.unchecked:
        content["unchecked"] = [asdict(one) for one in report.unchecked]
    if report.unimported:
        content["unimported"] = [asdict(one) for one in report.unimported]
    if report.subjects:
        content["subjects"] = [subject_object(subject) for subject in report.subjects]
    return content


def finding_object(finding: Finding) -> dict[str, Any]:
    """One finding."""
    content: dict[str, Any] = {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "advice": finding.advice,
        "confidence": finding.confidence.value,
        "related": [related_object(related) for related in finding.related],
    }
    if finding.site is not None:
        content["site"] = site_object(finding.site)
    optional = {name: getattr(finding, name) for name in ("node", "op", "tensor", "module", "backward", "function")}
    return content | {name: value for name, value in optional.items() if value is not None}


def related_object(related: Related) -> dict[str, Any]:
    """Another place that belongs to a finding."""
    content: dict[str, Any] = {"role": related.role, "what": related.what}
    if related.site is not None:
        content["site"] = site_object(related.site)
    return content


def site_object(site: Site) -> dict[str, Any]:
    """A line of code."""
    content: dict[str, Any] = {"file": site.file, "line": site.line, "function": site.function}
    if site.source is not None:
        content["source"] = site.source
    return content


def subject_object(subject: SubjectReport) -> dict[str, Any]:
    """One checked Function."""
    content: dict[str, Any] = {"function": subject.function, "verdict": subject.verdict.value}
    if subject.inputs is not None:
        content["inputs"] = subject.inputs.value
        content["rests_on"] = subject.rests_on
    content["trials"] = {name: {"status": r.status.value, "detail": r.detail} for name, r in subject.trials.items()}
    content["not_checked"] = list(subject.not_checked)
    content["ignored"] = subject.ignored
    return content
