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
