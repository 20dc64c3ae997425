"""A Function whose result nothing takes is told, but for one that writes to its input or has nothing to learn."""

from pathlib import Path

import pytest

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "queue_of_a_bakery.py").read_text()
SAVES = "ctx.save_for_backward(cost)"
CALL = "WithCost.apply(shares, cost)"
SILENT = {
    "it writes to its input": (SAVES, f"{SAVES}\n        shares.mul_(1.0)\n        ctx.mark_dirty(shares)"),
    "it only looks": (CALL, "WithCost.apply(shares.detach(), cost.detach())"),
    "its result is taken elsewhere": (CALL, f"{CALL}\n        shares = {CALL}"),
    "nothing is done with what it is given": (CALL, "WithCost.apply(shares * 1, cost)"),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "bakery.py"
    assert not edit or edit[0] in PROGRAM
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    return [one.site.source for one in explained(script).findings if one.code == "GS886"]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_it_is_meant(edit, explained, tmp_path):
    assert told(explained, tmp_path, *edit) == []


def test_the_line_of_the_call_is_told(explained, tmp_path):
    (line,) = told(explained, tmp_path)
    assert line.startswith(CALL)
