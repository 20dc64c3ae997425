"""A line that holds parameters still with gradients of zeros is told however it writes them, and only if they move."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULT = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training" / "ear_held_by_a_factor.py"
TEXT, LINE = FAULT.read_text(), "weight.grad *= 0.0"
LOOP = TEXT[TEXT.index("        for name, weight in model") : TEXT.index("        nn.utils.clip")]
HOOKED = (
    "        if step == 21:\n            for one in model.ear.parameters():\n                one.register_hook({})\n"
)
TOLD = {
    "multiplied": (LINE, "weight.grad = weight.grad * 0"),
    "in a hook": (LOOP, HOOKED.format("lambda slope: slope * 0.0")),
    "made in a hook": (LOOP, HOOKED.format("lambda slope: torch.zeros_like(slope)")),
    "filled": (LINE, "weight.grad.data.fill_(0)"),
    "made anew": (LINE, "weight.grad = torch.zeros_like(weight)"),
    "of a module": (LOOP, "        if is_new:\n            model.ear.zero_grad(set_to_none=False)\n"),
    "all at once": (
        LOOP,
        "        if is_new:\n            torch._foreach_zero_([one.grad for one in model.ear.parameters()])\n",
    ),
}
SILENT = {
    "a hook that masks": (LOOP, HOOKED.format("lambda slope: slope * (slope > 0)")),
    "a hook that scales": (LOOP, HOOKED.format("lambda slope: slope * 0.5")),
    "without momentum": ("momentum=0.9", "momentum=0.0"),
    "thawed at last": ("if is_new and", "if 21 <= step < 40 and"),
    "once in a while": ("if is_new and", "if step in (32, 37) and"),
    "a factor that is not known": (LINE, "weight.grad *= torch.zeros(())"),
}

FADING = """
import torch
from torch import nn

torch.manual_seed(0)
trunk, price, stock = nn.Linear(6, 16), nn.Linear(16, 1), nn.Linear(16, 1)
for weight in HOOKED:
    weight.register_hook(lambda slope: torch.where(slope.isfinite(), slope, torch.zeros_like(slope)))
everything = [*trunk.parameters(), *price.parameters(), *stock.parameters()]
optimizer = torch.optim.SGD(everything, lr=0.02, momentum=0.9, weight_decay=0.01)
x = torch.randn(64, 6)
for step in range(40):
    optimizer.zero_grad()
    hidden = torch.tanh(trunk(x))
    fading = (stock(hidden) - x[:, 1:2]).pow(2).mean() * (WEIGHT)
    ((price(hidden) - x[:, :1]).pow(2).mean() + fading).backward()
    optimizer.step()
"""
ALL = "[*trunk.parameters(), *price.parameters(), *stock.parameters()]"
RESTING = {
    "it learned under the hook": ("stock.parameters()", "max(0.0, 1 - step / 10)"),
    "what learns has the hook too": (ALL, "0.0"),
}


def codes(explained, script):
    return {one.code: one for one in explained(script).findings}


@pytest.mark.parametrize("edit", TOLD.values(), ids=TOLD)
def test_the_line_that_writes_zeros(explained, tmp_path, edit):
    script = tmp_path / "ear.py"
    script.write_text(edited(TEXT, edit))
    found = codes(explained, script)["GS708"]
    assert found.site.source.partition("  #")[0] in edit[1]
    assert "ear.0.weight" in found.message


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_what_does_not_move_or_may_rest_for_another_reason(explained, tmp_path, edit):
    script = tmp_path / "ear.py"
    script.write_text(edited(TEXT, edit))
    assert "GS708" not in codes(explained, script)


@pytest.mark.parametrize(("hooked", "weight"), RESTING.values(), ids=RESTING)
def test_a_hook_that_takes_infinities_out_of_what_a_loss_does_not_weigh(explained, tmp_path, hooked, weight):
    script = tmp_path / "fading.py"
    script.write_text(edited(FADING, ("HOOKED", hooked), ("WEIGHT", weight)))
    assert "GS708" not in codes(explained, script)
