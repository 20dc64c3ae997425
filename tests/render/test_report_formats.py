"""What `gradscope explain` prints of a recording's findings, in each format, word for word."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import click
import pytest

from gradscope.model.finding import Confidence, Finding, Related, Severity
from gradscope.model.report import Report
from gradscope.model.site import Site
from gradscope.render.report_formats import REPORT_FORMATS

EDITED = Site("train.py", 12, "forward", 'self.state.mul_(0.9)  # 50% "kept", a < b & c')
SAVED = Site("models/block.py", 7, "forward", "return x * self.state")
CAUSE = Finding(
    "GS701",
    "inplace-on-saved",
    Severity.ERROR,
    "MulBackward0 had saved its other for its backward; then mul_ edited it in place",
    "write `self.state = self.state * 0.9`",
    EDITED,
    (Related("saved_at", SAVED, "MulBackward0"), Related("fails_at", None, "backward 3")),
    node=17,
    op="aten.mul_.Tensor",
    tensor="state",
    module="blocks.1 (Block)",
    backward=3,
)
MAYBE = Finding(
    "GS728",
    "parameter-without-gradient",
    Severity.WARNING,
    "head.weight got no gradient in 4 backwards",
    "use it in the forward, or leave it out of the optimizer",
    Site("train.py", 30, "<module>", "optimizer = torch.optim.SGD(model.parameters(), 0.1)"),
    confidence=Confidence.LIKELY,
    tensor="head.weight",
)
NOTE = Finding("GS781", "gradients-thrown-away", Severity.INFO, "9 of 12 gradients were thrown away", "ask for fewer")
REPORT = Report((CAUSE, MAYBE, NOTE), torch="2.13.0", recording="run.gscope")


@pytest.mark.parametrize("name", REPORT_FORMATS)
def test_findings_of_a_recording_are_written_word_for_word(name: str, golden: Callable[[str, str], None]) -> None:
    format = REPORT_FORMATS[name]
    golden(f"findings{format.suffix or f'.{name}'}", click.unstyle(format.render(REPORT)))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_has_its_lines_as_wide_as_it_is(width: int) -> None:
    rows = click.unstyle(REPORT_FORMATS["details"].render(REPORT, width)).splitlines()
    prose = [row for row in rows if ">" not in row and "  GS" not in row]
    assert max(map(len, prose)) <= width
    assert max(map(len, prose)) > width - 40


def test_json_is_the_same_on_any_terminal() -> None:
    assert REPORT_FORMATS["json"].render(REPORT, 60) == REPORT_FORMATS["json"].render(REPORT)


def test_junit_fails_for_what_is_wrong_and_not_for_a_note() -> None:
    suite = ElementTree.fromstring(REPORT_FORMATS["junit"].render(REPORT).encode())
    assert [(case.get("name"), case[0].tag) for case in suite] == [
        ("GS701", "failure"),
        ("GS728", "failure"),
        ("GS781", "system-out"),
    ]


def test_junit_has_a_case_that_passes_where_nothing_was_found() -> None:
    suite = ElementTree.fromstring(REPORT_FORMATS["junit"].render(Report(recording="run.gscope")).encode())
    assert [(case.get("classname"), case.get("name"), len(case)) for case in suite] == [("gradscope", "run.gscope", 0)]
