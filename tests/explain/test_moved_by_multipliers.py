"""The loss of a multiplier is told where it moves what it weighs, and where the gradients of both losses meet."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "crane_with_a_temperature.py").read_text()
OF_ONE_BACKWARD = (FAULTS / "loans_of_two_groups.py").read_text()
OWN = "(-alpha * (logarithm + 1.0)).mean()"
SILENT = {
    "only the multiplier is asked for": (f"{OWN}.backward()", f"{OWN}.backward(inputs=[self.log_alpha])"),
    "it is asked for by grad": (
        f"{OWN}.backward()",
        f"self.log_alpha.grad = torch.autograd.grad({OWN}, self.log_alpha)[0]",
    ),
    "the policy steps before": (f"        {OWN}", f"        self.moves.step()\n        {OWN}"),
    "the policy is cleared between": (f"        {OWN}", f"        self.moves.zero_grad()\n        {OWN}"),
    "it has the same sign": ("(-alpha * (log", "(alpha * (log"),
    "the other weight is a number": ("(alpha.detach() *", "(0.2 *"),
    "the other weight is another's": ("(alpha.detach() *", "(swing.detach()[:, 0].abs() *"),
    "what is weighed is of another draw": ("(logarithm + 1.0)", "(drawn.log_prob(drawn.rsample()).sum(dim=1) + 1.0)"),
}
TOLD = {
    "the multiplier is cleared between": (f"        {OWN}", f"        self.cools.zero_grad()\n        {OWN}"),
    "the logarithm weighs": ("(-alpha * (log", "(-self.log_alpha * (log"),
    "it is taken from a constant": ("(-alpha * (logarithm + 1.0))", "(alpha * (-1.0 - logarithm))"),
}


def told(explained, tmp_path, edit, program=PROGRAM):
    script = tmp_path / "program.py"
    script.write_text(edited(program, edit))
    return [one.site.source for one in explained(script).findings if one.code == "GS700"]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_nothing_is_moved_or_lost(edit, explained, tmp_path):
    assert told(explained, tmp_path, edit) == []


@pytest.mark.parametrize("edit", TOLD.values(), ids=TOLD)
def test_it_works_against_the_other(edit, explained, tmp_path):
    (line,) = told(explained, tmp_path, edit)
    assert ".mean().backward()  # expect: GS700" in line


@pytest.mark.parametrize("asks", ["loss.backward(inputs=[raw])", "raw.grad = torch.autograd.grad(loss, raw)[0]"])
def test_what_is_asked_for_the_multiplier_alone_moves_nothing_else(asks, explained, tmp_path):
    edit = "    loss.backward()", f"    if step < 12:\n        loss.backward()\n    else:\n        {asks}"
    assert told(explained, tmp_path, edit, OF_ONE_BACKWARD) == []
