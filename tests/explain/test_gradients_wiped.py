"""A parameter whose gradients its own optimizer clears before each step is hinted at; what is used is not."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULT = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training" / "noise_of_another_loss.py"
TEXT = FAULT.read_text()
FIRST, SECOND, STEP = "    first.zero_grad()\n", "    second.zero_grad()\n", "    first.step()"
SILENT = {
    "cleared before": ((SECOND, ""), (FIRST, SECOND + FIRST)),
    "stepped by hand": ((STEP, f"{STEP}\n    criterion.noise.data -= 0.01 * criterion.noise.grad"),),
    "held by both": (("Adam(model.parameters()", "Adam([*model.parameters(), criterion.noise]"),),
    "in the other loss as well": (("judge(drawn, seen)\n", "judge(drawn, seen) + criterion.noise**2\n"),),
    "at rest": (("nn.Parameter(torch.zeros(()))", "nn.Parameter(torch.zeros(()), False)"),),
    "of a loss that no optimizer takes": ((STEP, "    pass"),),
    "read": ((STEP, f"{STEP}\n    print((criterion.noise.grad * 1.0).item())"),),
}


@pytest.mark.parametrize("edits", SILENT.values(), ids=list(SILENT))
def test_it_is_silent(explained, tmp_path, edits):
    script = tmp_path / "coins.py"
    script.write_text(edited(TEXT, *edits))
    assert not {one.code for one in explained(script).findings} & {"GS748"}
