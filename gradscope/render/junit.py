"""A report as JUnit XML: a case for each Function, failed when it has an error, skipped when it was not checked.

A recording has a case for each finding, failed unless it is a note; where nothing was found, one that passes.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from gradscope.model.finding import Finding, Severity
from gradscope.model.report import Report, SubjectReport, Verdict

FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0 has no other characters


def render(report: Report) -> str:
    """One suite with all cases."""
    suite = Xml.Element("testsuite", name="gradscope")
    for subject in report.subjects:
        subject_case(suite, subject, report.of(subject.function))
    for one in report.unimported:
        case = Xml.SubElement(suite, "testcase", classname=clean(one.module), name="import")
        Xml.SubElement(case, "skipped", message=clean(one.reason))
    if not report.subjects:
        recording_cases(suite, report)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    Xml.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(suite, encoding="unicode") + "\n"


def recording_cases(suite: Xml.Element, report: Report) -> None:
    """The cases of a recording."""
    for finding in report.findings:
        case = Xml.SubElement(suite, "testcase", classname="gradscope", name=finding.code)
        if finding.severity is Severity.INFO:
            Xml.SubElement(case, "system-out").text = clean(sentence(finding))
        else:
            failure(case, [finding])
    for code in report.left_out:
        case = Xml.SubElement(suite, "testcase", classname="gradscope", name=code)
        Xml.SubElement(case, "skipped", message="looking for it took too long")
    if report.recording and not report.findings and not report.left_out:
        Xml.SubElement(suite, "testcase", classname="gradscope", name=clean(report.recording))


def subject_case(suite: Xml.Element, subject: SubjectReport, findings: tuple[Finding, ...]) -> None:
    """The case of one Function."""
    module, _, name = subject.function.rpartition(".")
    case = Xml.SubElement(suite, "testcase", classname=clean(module or "gradscope"), name=clean(name))
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        failure(case, errors)
    elif subject.verdict is Verdict.NOT_CHECKED:
        Xml.SubElement(case, "skipped", message=clean("; ".join(subject.not_checked) or "not checked"))
    rest = [finding for finding in findings if finding not in errors]
    if rest:
        Xml.SubElement(case, "system-out").text = clean("\n".join(sentence(finding) for finding in rest))


def failure(case: Xml.Element, findings: list[Finding]) -> None:
    """A failure that lists the findings."""
    element = Xml.SubElement(case, "failure", message=clean(findings[0].message), type=findings[0].code)
    element.text = clean("\n".join(sentence(finding) for finding in findings))


def sentence(finding: Finding) -> str:
    """One finding in a line."""
    return f"{finding.site or ''} {finding.code} {finding.severity.value}: {finding.message}. {finding.advice}".strip()


def clean(text: str) -> str:
    """Text without the characters that XML forbids."""
    return FORBIDDEN.sub("?", text)
