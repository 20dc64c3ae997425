"""A teacher that its student's loss moves is told, in all forms of the divergence; nothing is where it is meant."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "exits_of_a_moving_teacher.py").read_text()
WANTED = "wanted = torch.log_softmax(late / heat, 1)  # expect: GS842"
GIVEN = "given = torch.log_softmax(early / heat, 1)"
APART = "return heat**2 * (wanted.exp() * (wanted - given)).sum(1).mean()  # expect: GS842 called_at"
LABELS = "F.cross_entropy(late, labels) + 0.5 * F.cross_entropy(early, labels)"
MIXED = "torch.log((wanted.exp() + given.exp()) / 2)"
SILENT = {
    "each learns from the other": [("0.5 * apart(early, late)", "0.5 * (apart(early, late) + apart(late, early))")],
    "they are to differ": [("+ 0.5 * apart", "- 0.01 * apart")],
    "no labels train the teacher": [(LABELS, "F.cross_entropy(early, labels)")],
    "both are to come to their mean": [("(wanted - given)", f"(wanted - {MIXED})")],
    "one net under two noises": [("early, late = net(x)", "early, late = net(x)[1], net(x + torch.randn(32, 6))[1]")],
    "the teacher is a mean that the student is part of": [
        ("early, late = net(x)", "early, late = net(x); late = (early + late) / 2")
    ],
    "no optimizer moves the teacher": [
        ("optimizer = torch.optim.SGD(net", "optimizer = torch.optim.SGD(nn.ModuleList([net.begin, net.exit])")
    ],
    "the teacher is sure of itself": [("(wanted - given)", "-wanted")],
}
OTHER_FORMS = {
    "kl_div": [(APART, "return F.kl_div(given, wanted.exp(), reduction='batchmean')")],
    "kl_div of logarithms": [(APART, "return F.kl_div(given, wanted, log_target=True, reduction='batchmean')")],
    "cross_entropy": [(APART, "return F.cross_entropy(early, wanted.exp())")],
    "a softmax": [(WANTED, "wanted = (late / heat).softmax(1)"), (APART, "return -(wanted * given).sum(1).mean()")],
    "logarithms of a softmax": [(GIVEN, "given = (early / heat).softmax(1).clamp(min=1e-6).log()")],
    "labels picked by hand": [("F.cross_entropy(late, labels)", "-late.log_softmax(1)[range(32), labels].mean()")],
    "now and then": [("+ 0.5 * apart(early, late)", "+ (0.5 * apart(early, late) if step % 2 else 0.0)")],
}


def told(explained, tmp_path, edits):
    script = tmp_path / "exits.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS842"]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_it_is_meant(edits, explained, tmp_path):
    assert told(explained, tmp_path, edits) == []


@pytest.mark.parametrize("edits", OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_other_forms(edits, explained, tmp_path):
    (line,) = told(explained, tmp_path, edits)
    assert line.startswith("wanted = ")
