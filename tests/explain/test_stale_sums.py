"""Gradients that were summed up before an optimizer held their parameters are told where nothing cleared them."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
GROUPS = (FAULTS / "tides_thawed_from_the_top.py").read_text()
OPTIMIZERS = (FAULTS / "fonts_with_a_late_optimizer.py").read_text()
CLEARS = "        for optimizer in active:\n            optimizer.zero"
IF, MADE = "    if round_ in thaws:\n", "        if step == WARM_UP:\n"
SILENT = {
    "the model is cleared as it joins": (GROUPS, (IF, f"{IF}        layers.zero_grad()\n")),
    "a layer is cleared as it joins": (GROUPS, (IF, f"{IF}        thaws[round_].zero_grad()\n")),
    "it is cleared by hand as it joins": (
        GROUPS,
        (IF, f"{IF}        for one in thaws[round_].parameters():\n            one.grad = None\n"),
    ),
    "the optimizer clears once it has joined": (
        GROUPS,
        ("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()"),
    ),
    "it was frozen": (
        GROUPS.replace(
            "    if round_ in thaws:", "    if round_ in thaws:\n        thaws[round_].requires_grad_(True)"
        ),
        ("for round_ in range", "layers[:4].requires_grad_(False)\nfor round_ in range"),
    ),
    "what is before it ran without gradients": (
        OPTIMIZERS,
        ("self.letters(self.features(pixels))", "self.letters(self.features(pixels).detach() if self.training else 0)"),
    ),
    "the new optimizer clears first": (
        OPTIMIZERS,
        ("        loss.backward()", "        for one in active:\n            one.zero_grad()\n        loss.backward()"),
    ),
    "another optimizer clears them": (
        OPTIMIZERS,
        (MADE, f"{MADE}            torch.optim.SGD(model.features.parameters()).zero_grad()\n"),
    ),
    "nothing had been cleared before": (
        OPTIMIZERS,
        (
            "        for optimizer in active:\n            optimizer.zero",
            "        if step >= 12:\n            optimizer.zero",
        ),
    ),
}
TOLD = {
    "it is cleared before the last backward": (
        GROUPS,
        ("    loss =", "    optimizer.zero_grad() if round_ < 12 else None\n    loss ="),
    ),
    "a few batches": (GROUPS, ("thaws = {12", "thaws = {4")),
    "the zeros stay": (OPTIMIZERS, ("(set_to_none=False)", "()")),
}


def told(explained, tmp_path, case):
    program, edit = case
    script = tmp_path / "program.py"
    script.write_text(edited(program, edit))
    return [one.site.source for one in explained(script).findings if one.code == "GS715"]


@pytest.mark.parametrize("case", SILENT.values(), ids=SILENT)
def test_nothing_is_stale(case, explained, tmp_path):
    assert told(explained, tmp_path, case) == []


@pytest.mark.parametrize("case", TOLD.values(), ids=TOLD)
def test_a_sum_is_told_at_what_leaves_it(case, explained, tmp_path):
    assert "zero_grad(" in told(explained, tmp_path, case)[0]
