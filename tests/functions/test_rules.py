"""Rules: their table, their pages, and how findings are weighed."""

import subprocess
import sys
from pathlib import Path

import torch

from gradscope.commands.rule import table
from gradscope.functions.check import check_function
from gradscope.functions.rules.rule import HEADINGS
from gradscope.functions.rules.table import RULES, TABLE
from gradscope.model.finding import Severity
from gradscope.model.report import Source, Status, Verdict
from tests.functions.cases import choices

ONE = (torch.rand(3) + 0.5,)
DOCS = Path(__file__).parents[2] / "docs"


def test_every_rule_has_its_page():
    missing = [(rule.code, heading) for rule in TABLE for heading in HEADINGS if not rule.section(heading)]
    assert TABLE
    assert missing == []


def test_codes_and_names_are_unique():
    assert len(RULES) == len(TABLE) == len({rule.name for rule in TABLE})


def test_the_documentation_shows_the_table():
    assert (DOCS / "rules.md").read_text() == table(), "run: gradscope rule --markdown > docs/rules.md"


def test_pages_are_read_without_torch():
    code = "import sys, gradscope.commands.rule; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def codes(report, *severities):
    return {f.code for f in report.findings if f.severity in (severities or (Severity.ERROR, Severity.WARNING))}


def test_a_comment_silences_a_code():
    report = check_function(choices.Silenced)
    assert codes(report) == set()
    assert report.subjects[0].ignored == 1


def test_select_and_ignore():
    assert codes(check_function(choices.Combined, select=("GS2",))) == {"GS219"}
    assert codes(check_function(choices.Combined, level="func", ignore=("GS2",))) == {"GS110"}


def test_below_the_promise_limits_are_notes():
    assert codes(check_function(choices.FailsUnderVmap, ONE, level="eager")) == set()
    assert codes(check_function(choices.FailsUnderVmap, ONE), Severity.ERROR)


def test_a_forward_with_ctx_is_an_error_only_where_transforms_are_asked_for():
    for level, severity in ((None, Severity.INFO), ("eager", Severity.INFO), ("func", Severity.ERROR)):
        asked = {"level": level} if level else {}
        assert "GS110" in codes(check_function(choices.Combined, **asked), severity)


def test_a_forward_with_ctx_is_a_warning_where_the_class_declares_transforms():
    assert "GS110" in codes(check_function(choices.CombinedWithRule), Severity.WARNING)


def test_a_class_that_declares_no_transforms_gets_one_line_about_them():
    notes = [f.code for f in check_function(choices.Combined).findings if f.severity is Severity.INFO]
    assert [code for code in notes if code.startswith(("GS1", "GS3"))] == ["GS110"]


def test_what_rests_on_guesses_is_no_more_than_a_warning():
    assert codes(check_function(choices.Doubled), Severity.WARNING) == {"GS401"}
    assert codes(check_function(choices.Doubled, ONE), Severity.ERROR) == {"GS401"}


def test_a_slip_in_the_code_is_an_error_whatever_the_inputs():
    assert codes(check_function(choices.Unpacked), Severity.ERROR) == {"GS123"}


def test_a_write_that_was_seen_is_an_error_whatever_the_inputs():
    assert codes(check_function(choices.WritesGradient), Severity.ERROR) == {"GS408"}


def test_a_custom_gradient_is_wrong_by_design_and_no_finding():
    report = check_function(choices.Reversal, custom_gradient=True)
    assert report.subjects[0].trials["gradcheck"].status is Status.WRONG
    assert report.subjects[0].trials["gradcheck"].detail == "by design"
    assert codes(report) == set()


def test_a_reference_is_what_values_are_compared_with():
    assert codes(check_function(choices.Reversal, reference=choices.reversal_reference)) == {"GS401"}
    assert "GS199" in codes(check_function(choices.Reversal, custom_gradient=True, reference=choices.other_reference))


def test_guessed_inputs_are_named():
    subject = check_function(choices.Silenced).subjects[0]
    assert subject.inputs is Source.GUESSED
    assert "float32[3, 4]" in subject.rests_on


def test_without_inputs_nothing_is_ok():
    report = check_function(choices.Unguessable, level="eager")
    assert report.subjects[0].verdict is Verdict.NOT_CHECKED
    assert all(result.status is Status.SKIPPED for result in report.subjects[0].trials.values())


def test_missing_source_is_said_and_the_trials_still_run():
    report = check_function(choices.without_source())
    assert codes(report) == {"GS401"}
    assert any("source" in gap for gap in report.subjects[0].not_checked)


def test_self_in_the_place_of_ctx_is_a_note_where_apply_works():
    assert "GS103" in codes(check_function(choices.SelfIsContext), Severity.INFO)
    assert codes(check_function(choices.SelfIsContext)) == set()
    assert codes(check_function(choices.HoldsItsFactor), Severity.ERROR) == {"GS103"}


def test_what_torch_adds_to_a_class_is_no_misspelt_backward():
    messages = [f.message for f in check_function(choices.ForwardAlone).findings if f.code == "GS105"]
    assert messages == ["ForwardAlone has no backward"]


def test_something_else_than_a_function():
    assert codes(check_function(dict)) == {"GS101"}
