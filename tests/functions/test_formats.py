"""Every format over small hand-made reports."""

import json
from xml.etree import ElementTree

import click
import pytest

from gradscope.model.finding import Finding, Related, Severity
from gradscope.model.report import Report, Source, Status, SubjectReport, TrialResult, Verdict
from gradscope.model.site import Site
from gradscope.render.report_formats import REPORT_FORMATS, guess_format

SITE = Site("/somewhere/mymod.py", 7, "backward", "return x * grad")
FINDING = Finding(
    "GS401",
    "wrong-gradient",
    Severity.ERROR,
    "50% wrong, a\nb: <&>\x00",
    "mend it",
    SITE,
    (Related("class_at", SITE, "MyFn"),),
    function="mymod.MyFn",
)
NOTE = Finding("GS320", "no-jvp", Severity.INFO, "there is no jvp", function="mymod.MyFn")
SUBJECT = SubjectReport(
    "mymod.MyFn",
    Source.GUESSED,
    Verdict.FINDINGS,
    {"grad": TrialResult(Status.WRONG, "differs", "torch.func")},
    SITE,
    "(float32[3])",
    ("not run: compile",),
)
UNCHECKED = SubjectReport("mymod.Other", None, Verdict.NOT_CHECKED, not_checked=("no inputs",))
REPORT = Report((FINDING, NOTE), (SUBJECT, UNCHECKED), "2.13.0")


def written(name, report=REPORT):
    return REPORT_FORMATS[name].render(report)


@pytest.mark.parametrize("name", REPORT_FORMATS)
@pytest.mark.parametrize("report", [Report(), Report((FINDING,)), REPORT], ids=["empty", "recording", "functions"])
def test_every_format_writes_every_report(name, report):
    assert isinstance(written(name, report), str)


def test_text_shows_verdict_inputs_line_and_fix():
    text = click.unstyle(written("text"))
    for part in (
        "mymod.MyFn",
        "1 error, 1 note",
        "inputs guessed: (float32[3])",
        "wrong  grad",
        "GS401 error wrong-gradient",
        "> return x * grad",
        "fix: mend it",
        "not checked: not run: compile",
    ):
        assert part in text


def test_json_follows_the_contract():
    content = json.loads(written("json"))
    assert content["format"] == 1
    first = content["findings"][0]
    assert first["site"] == {
        "file": "/somewhere/mymod.py",
        "line": 7,
        "function": "backward",
        "source": "return x * grad",
    }
    assert first["related"][0]["role"] == "class_at"
    assert first["function"] == "mymod.MyFn"
    assert content["subjects"][0]["trials"] == {"grad": {"status": "wrong", "detail": "differs"}}
    assert [s["verdict"] for s in content["subjects"]] == ["findings", "not-checked"]


def test_json_leaves_absent_facts_out():
    assert "site" not in json.loads(written("json"))["findings"][1]
    assert "inputs" not in json.loads(written("json"))["subjects"][1]


def test_sarif_has_rules_results_and_locations():
    run = json.loads(written("sarif"))["runs"][0]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {"GS401", "GS320"}
    assert [result["level"] for result in run["results"]] == ["error", "note"]
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location == {"artifactLocation": {"uri": "file:///somewhere/mymod.py"}, "region": {"startLine": 7}}


def test_junit_is_xml_with_a_case_for_each_function():
    suite = ElementTree.fromstring(written("junit").encode())
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    assert suite.find("testcase/failure").get("type") == "GS401"


def test_github_escapes_what_ends_a_command():
    first = written("github").splitlines()[0]
    assert first.startswith(
        "::error file=/somewhere/mymod.py,line=7,title=GS401 wrong-gradient::mymod.MyFn: 50%25 wrong, a%0Ab"
    )


@pytest.mark.parametrize(
    ("name", "fmt"), [("a.json", "json"), ("a.sarif", "sarif"), ("a.xml", "junit"), ("-", "text"), ("a", "text")]
)
def test_the_suffix_names_the_format(name, fmt):
    assert guess_format(name) == fmt
