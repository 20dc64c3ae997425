"""From evidence to findings: run the rules in order, weigh what they found, leave out what the user ignores."""

from __future__ import annotations

import linecache
from collections.abc import Iterator

from gradscope.functions.rules.case import LEVELS, FunctionCase
from gradscope.functions.rules.fault import Violation
from gradscope.functions.rules.rule import Rule
from gradscope.functions.rules.table import TABLE
from gradscope.model.choice import Choice, silences
from gradscope.model.finding import Confidence, Finding, Severity
from gradscope.model.report import Source, Status
from gradscope.model.site import Site


def judge(case: FunctionCase, choice: Choice) -> tuple[tuple[Finding, ...], int]:
    """The findings, worst first and causes before symptoms, and how many the source or the configuration silences."""
    findings = [finding_of(case, rule, fault) for rule, fault in faults(case)]
    wanted = [f for f in findings if choice.wants(f.code)]
    excused = {code for code, _ in choice.reasons}
    heard = [f for f in wanted if f.code not in excused and not ignored(f, case.subject.site)]
    return tuple(sorted(heard, key=lambda f: f.severity.rank)), len(wanted) - len(heard)


def faults(case: FunctionCase) -> Iterator[tuple[Rule, Violation]]:
    """All faults; what one explains, later rules do not see any more."""
    if case.inputs_refused:
        case.explained.update(case.outcomes)
    for rule in TABLE:
        for fault in rule.check(case):
            yield rule, fault
            case.explained.update(fault.explains)


def finding_of(case: FunctionCase, rule: Rule, fault: Violation) -> Finding:
    """The finding for a fault."""
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=severity_of(case, rule, fault),
        message=fault.message + disagreement(case, fault),
        advice=fault.advice or rule.section("Do instead"),
        site=fault.site or case.subject.site,
        related=fault.related,
        confidence=Confidence.CERTAIN if fault.certain else Confidence.LIKELY,
        function=case.subject.name,
    )


def disagreement(case: FunctionCase, fault: Violation) -> str:
    """Words for a fault that only some of the guessed inputs show."""
    shown = [case.fact(name, "shown_by") for name in fault.explains if case.fact(name, "shown_by")]
    if case.source is not Source.GUESSED or not shown or any(failing == tried for failing, tried in shown):
        return ""
    failing, tried = max(shown)
    return f" (the guessed inputs disagree: {failing} of {tried} show it)"


def severity_of(case: FunctionCase, rule: Rule, fault: Violation) -> Severity:
    """The rule's severity: info beyond what is promised, a warning at most where guessed inputs may be to blame."""
    severity = fault.severity or rule.severity
    if LEVELS.index(rule.promise) > LEVELS.index(case.level):
        return Severity.INFO
    return humbled(case, rule, fault, severity) if case.source is Source.GUESSED else severity


def humbled(case: FunctionCase, rule: Rule, fault: Violation, severity: Severity) -> Severity:
    """The severity of what guessed inputs show: proof alone is an error, and a backward that refuses them is a note."""
    if rule.proven or fault.proven:
        return severity
    if "eager_bwd" in fault.explains and case.outcome("eager_bwd").status is Status.RAISES:
        return Severity.INFO
    if rule.by_shape and not (severity is Severity.ERROR and case.gradient_wrong):
        return Severity.INFO
    return Severity.WARNING if severity is Severity.ERROR else severity


def ignored(finding: Finding, class_site: Site | None) -> bool:
    """Whether a comment on the finding's line, or on that of the class, silences its code."""
    sites = [site for site in (finding.site, class_site) if site]
    return any(silences(linecache.getline(site.file, site.line), finding.code) for site in sites)
