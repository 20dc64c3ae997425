"""A report as SARIF 2.1.0 for code scanning and editors. File names are relative to the working directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gradscope.model.finding import Finding, Severity
from gradscope.model.report import Report
from gradscope.model.site import Site
from gradscope.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report) -> str:
    """The whole report as one run."""
    rules = {finding.code: rule_object(finding) for finding in report.findings}
    driver = {"name": "gradscope", "version": __version__, "rules": list(rules.values())}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "results": [result_object(finding) for finding in report.findings],
    }
    if report.gap is not None:
        said = {"level": "warning", "message": {"text": report.gap}}
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": [said]}]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def rule_object(finding: Finding) -> dict[str, Any]:
    """The rule that a finding belongs to."""
    return {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": {"text": finding.name},
        "help": {"text": finding.advice or finding.name},
    }


def result_object(finding: Finding) -> dict[str, Any]:
    """One finding."""
    prefix = f"{finding.function}: " if finding.function else ""
    content: dict[str, Any] = {
        "ruleId": finding.code,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{prefix}{finding.message}. {finding.advice}".rstrip()},
    }
    if finding.site is not None:
        content["locations"] = [location(finding.site)]
    related = [
        location(r.site) | {"message": {"text": f"{r.role} {r.what}".strip()}} for r in finding.related if r.site
    ]
    distinct = [each for number, each in enumerate(related) if each not in related[:number]]  # SARIF asks for that
    return content | ({"relatedLocations": distinct} if related else {})


def location(site: Site) -> dict[str, Any]:
    """A physical location."""
    path = Path(site.file)
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": max(site.line, 1)}}}
