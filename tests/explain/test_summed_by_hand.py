"""What moves by a gradient that each backward adds to is told; what clears it, lets it fade or only looks is not."""

import re
from pathlib import Path

import pytest

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
MEANT = (Path(__file__).parent / "healthy" / "sums_by_hand_that_are_meant.py").read_text()
TERMS = (FAULTS / "two_terms_of_a_choir.py").read_text()
STEP = "        weights.copy_(weights - 0.2 * weights.grad)  # expect: GS801\n"
PROGRAM = (FAULTS / "probe_of_a_field.py").read_text()
MOVE = "place += 0.1 * place.grad  # expect: GS801"
SILENT = {
    "it is zeroed": (MOVE, f"{MOVE}\n            place.grad.zero_()"),
    "its data is zeroed": (MOVE, f"{MOVE}\n            place.grad.data.zero_()"),
    "a part of it is zeroed": (MOVE, f"{MOVE}\n            place.grad[:].fill_(0)"),
    "it fades": (MOVE, f"{MOVE}\n            place.grad.mul_(0.9)"),
    "it is new each time": (MOVE, f"{MOVE}\n            place.grad = None"),
    "it is looked at": (MOVE, "print(place.grad.norm().item())"),
    "the place is made of the sum": (MOVE, "place.copy_(0.1 * place.grad)"),
    "it is used once in all": (
        f"        with torch.no_grad():\n            {MOVE}",
        f"    with torch.no_grad():\n        {MOVE}",
    ),
}
LONG = {
    "by what it was": (STEP, STEP),
    "its data anew": (STEP, "        weights.data = weights.data - 0.2 * weights.grad\n"),
    "a list": (STEP, "        torch._foreach_add_([weights], [weights.grad], alpha=-0.2)\n"),
    "clipped": (
        "    with torch.no_grad():\n" + STEP,
        "    torch.nn.utils.clip_grad_norm_([weights], 1.0)\n    weights.data.add_(weights.grad, alpha=-0.2)\n",
    ),
}
TOLD = {
    "by its signs": (MOVE, "place.data = place.data + 0.1 * place.grad.sign()"),
    "its data": (MOVE, "place.data += 0.1 * place.grad"),
}


def told(explained, tmp_path, edit):
    script = tmp_path / "probe.py"
    assert edit[0] in PROGRAM
    script.write_text(PROGRAM.replace(*edit))
    return [one.site.source for one in explained(script).findings if one.code == "GS801"]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_it_is_meant(edit, explained, tmp_path):
    assert told(explained, tmp_path, edit) == []


@pytest.mark.parametrize("edit", TOLD.values(), ids=TOLD)
def test_other_forms(edit, explained, tmp_path):
    (line,) = told(explained, tmp_path, edit)
    assert line.startswith("place.data ")


def test_a_place_that_is_sought_clears_what_the_model_got(explained, tmp_path):
    script = tmp_path / "probe.py"
    script.write_text(PROGRAM.replace(MOVE, f"{MOVE}\n            place.grad = None"))
    assert [one.code for one in explained(script).findings if one.code == "GS802"] == []


@pytest.mark.parametrize("name", re.findall(r"^def (\w+)\(\):", MEANT, re.MULTILINE))
def test_a_sum_that_is_meant_or_cleared_out_of_sight(name, explained, tmp_path):
    script = tmp_path / "meant.py"
    functions, _, _ = MEANT.partition("for fitted in (")
    script.write_text(f"{functions}print(error({name}()).item())\n")
    assert explained(script).findings == ()


@pytest.mark.parametrize("edit", LONG.values(), ids=LONG)
def test_long_runs_of_which_little_is_recorded(edit, explained, tmp_path):
    script = tmp_path / "long.py"
    assert edit[0] in TERMS
    script.write_text(TERMS.replace(*edit))
    ((code, line),) = [(one.code, one.site.source) for one in explained(script).findings]
    assert code == "GS801"
    assert line in edit[1]
    assert "clip" not in line
