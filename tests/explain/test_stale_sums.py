"""Gradients that were summed up before an optimizer held their parameters are told where nothing cleared them."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
GROUPS = (FAULTS / "tides_thawed_from_the_top.py").read_text()
OPTIMIZERS = (FAULTS / "fonts_with_a_late_optimizer.py").read_text()
STAGES = (FAULTS / "valves_after_a_head_alone.py").read_text()
SUMS = '''"""Tides: the gates learn from each batch, the body once a round from what a round has summed up."""

import torch
from torch import nn

torch.manual_seed(0)
body, gates = nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.ModuleList(nn.Linear(8, 1) for _ in range(6))
everything = nn.ModuleList([body, gates])
fast = torch.optim.SGD(gates.parameters(), lr=0.05)
levels = torch.randn(64, 8)
for _ in range(3):
    for at, gate in enumerate(gates):
        fast.zero_grad()
        (gate(body(levels)) - levels[:, at : at + 1]).square().mean().backward()
        fast.step()
    slow = torch.optim.SGD(body.parameters(), lr=0.1)
    slow.step()
    everything.zero_grad()
'''
MADE_SLOW = "    slow = torch.optim.SGD(body.parameters(), lr=0.1)\n"
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
    "an optimizer made for what is summed up": (SUMS, ("(gate(body(", "(gates[0](body(")),
    "each gate has its batch": (
        SUMS,
        (
            ("        fast.zero_grad()\n", ""),
            (
                "        fast.step()\n",
                "        if at == 4:\n            slow = torch.optim.SGD(everything.parameters(), 0.1)\n",
            ),
            (MADE_SLOW, ""),
        ),
    ),
    "all is cleared between the stages": (
        STAGES,
        ("step == 15:", "step == 15:\n            listener.zero_grad()"),
    ),
    "the optimizer of the stage before uses them and goes on": (
        STAGES,
        (
            (
                "    for step in range(30)",
                "    other = torch.optim.SGD(listener.ear.parameters(), 1e-3)\n    for step in range(30)",
            ),
            ("        loss.backward()", "        loss.backward()\n        other.step()"),
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
    edits = (edit,) if edit and isinstance(edit[0], str) else edit
    script.write_text(edited(program, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS715"]


@pytest.mark.parametrize("case", SILENT.values(), ids=SILENT)
def test_nothing_is_stale(case, explained, tmp_path):
    assert told(explained, tmp_path, case) == []


@pytest.mark.parametrize("case", TOLD.values(), ids=TOLD)
def test_a_sum_is_told_at_what_leaves_it(case, explained, tmp_path):
    assert "zero_grad(" in told(explained, tmp_path, case)[0]
