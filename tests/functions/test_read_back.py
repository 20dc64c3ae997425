"""What machines read is read back: SARIF by a schema, JUnit by an XML parser, GitHub's commands by a small parser."""

import json
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest

from gradscope.functions.check import check_function
from gradscope.model.finding import Finding, Related, Severity
from gradscope.model.report import Report
from gradscope.model.site import Site
from gradscope.render.report_formats import REPORT_FORMATS
from tests.functions.cases import choices
from tests.functions.test_formats import REPORT

SCHEMA = Path(__file__).parent / "schemas" / "sarif-2.1.0-rtm.5.json"  # the official one; its licence is beside it
SARIF = jsonschema.Draft4Validator(
    json.loads(SCHEMA.read_text(encoding="utf-8")), format_checker=jsonschema.FormatChecker()
)
COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")
ODD_SITE = Site("a folder/ünï, 100%:x#.py", 3, "f", "pass")
ODD = Finding(
    "GS401", "wrong-gradient", Severity.WARNING, "a, b: c%\r\nd", "", ODD_SITE, (Related("at", ODD_SITE),) * 2
)
REPORTS = {"empty": Report(), "made": REPORT, "odd": Report((ODD,))}


@pytest.fixture(scope="module")
def real():
    return check_function(choices.Combined, level="func")


def written(name, report):
    return REPORT_FORMATS[name].render(report)


def unescaped(text):
    """GitHub's own escapes taken back."""
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def commands(text):
    """The workflow commands of a text: severity, properties, message."""
    for line in text.splitlines():
        severity, properties, message = COMMAND.fullmatch(line).groups()
        pairs = dict(pair.split("=", 1) for pair in properties.split(","))
        yield severity, {key: unescaped(value) for key, value in pairs.items()}, unescaped(message)


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_sarif_follows_the_schema(report):
    SARIF.validate(json.loads(written("sarif", report)))


def test_sarif_of_a_real_report_follows_the_schema(real):
    SARIF.validate(json.loads(written("sarif", real)))


def test_the_schema_refuses_what_sarif_refuses():
    content = json.loads(written("sarif", REPORT))
    content["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    with pytest.raises(jsonschema.ValidationError):
        SARIF.validate(content)


def test_the_schema_refuses_words_that_sarif_does_not_know():
    content = json.loads(written("sarif", REPORT))
    content["runs"][0]["results"][0]["severity"] = "error"
    with pytest.raises(jsonschema.ValidationError):
        SARIF.validate(content)


def test_sarif_names_every_rule_that_a_result_has(real):
    run = json.loads(written("sarif", real))["runs"][0]
    assert {result["ruleId"] for result in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}


def test_sarif_names_odd_files_by_uris():
    (result,) = json.loads(written("sarif", Report((ODD,))))["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri) == ODD_SITE.file


def test_junit_of_a_real_report_fails_its_function(real):
    suite = ElementTree.fromstring(written("junit", real).encode())
    (case,) = suite.findall("testcase")
    assert (case.get("classname"), case.get("name")) == ("tests.functions.cases.choices", "Combined")
    assert (suite.get("failures"), case.find("failure").get("type")) == ("1", "GS110")


def test_github_commands_of_a_real_report_name_file_and_line(real):
    found = list(commands(written("github", real)))
    assert [severity for severity, _, _ in found].count("error") == 1
    assert all(properties["file"] == "tests/functions/cases/choices.py" for _, properties, _ in found)
    assert all(int(properties["line"]) > 0 for _, properties, _ in found)


def test_github_commands_keep_odd_texts():
    ((severity, properties, message),) = commands(written("github", Report((ODD,))))
    assert (severity, properties["file"]) == ("warning", ODD_SITE.file)
    assert message.startswith("a, b: c%\r\nd")
