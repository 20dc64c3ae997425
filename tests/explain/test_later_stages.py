"""An optimizer of a later stage that moves what rests by then is told; one that leaves it is not."""

from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "sample_scripts/faults/training/second_stage_takes_all.py"
SILENT = {
    "without decay and momentum": [(", momentum=0.9, weight_decay=1e-2", "")],
    "with no gradient": [("set_to_none=False", "")],
    "with gradients by hand": [
        (
            "        optimizer.step()\n",
            "        if harbour == 'south':\n            for one in model['body'].parameters():\n"
            "                one.grad = 0.01 * torch.randn_like(one)\n        optimizer.step()\n",
        )
    ],
    "while nothing rests": [("    model[part].requires_grad_(False)", "    pass")],
}


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_what_may_move_is_not_told(explained, tmp_path, edits):
    text = SCRIPT.read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    script = tmp_path / "tides.py"
    script.write_text(text)
    assert "GS708" not in {one.code for one in explained(script).findings}
