"""A ratio that is one each time is told where its data serves for several steps, in each form of the old value."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "floors_of_a_lift.py").read_text()
WITHOUT = "        with torch.no_grad():\n            before = lift.chances(calls, floors)  # expect: GS896\n"
EXP = "(lift.chances(calls, floors) - before).exp()"
NEW = "        now = lift.chances(calls, floors)\n"
LEARNS = "    for _ in range(4):\n"
FIRST = NEW + "        before = now.detach() if _ == 0 else before\n"
TABLE = ("lift = Lift()", "lift = Lift()\ntable = torch.tensor([0.1, 1.0, -0.5])")
SILENT = {
    "data of one step": [("range(4)", "range(1)"), ("range(3)", "range(6)")],
    "a table of all steps": [
        ("range(4)", "range(1)"),
        ("range(3)", "range(6)"),
        TABLE,
        ("gains = (floors == 1).float() - 0.3", "gains = table[floors]"),
    ],
    "the first round's": [(WITHOUT, FIRST), (EXP, "(now - before).exp()")],
    "it is kept": [(WITHOUT, ""), (LEARNS, "    before = lift.chances(calls, floors).detach()\n" + LEARNS)],
    "nothing is clipped": [("torch.minimum(ratio * gains, clipped * gains)", "(ratio * gains)")],
}
TOLD = {
    "detached": [(WITHOUT, NEW + "        before = now.detach()\n"), (EXP, "(now - before).exp()")],
    "a quotient": [(EXP, "lift.chances(calls, floors).exp() / before.exp()")],
    "parts of a day": [
        (
            "    for _ in range(4):\n",
            "    day, every = (calls, floors, gains), torch.arange(32).split(8)\n    for rows in every:\n",
        ),
        (WITHOUT, "        calls, floors, gains = (each[rows] for each in day)\n" + WITHOUT),
    ],
}


def told(explained, tmp_path, edits):
    script = tmp_path / "lift.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS896"]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_it_is_meant(edits, explained, tmp_path):
    assert told(explained, tmp_path, edits) == []


@pytest.mark.parametrize("edits", TOLD.values(), ids=TOLD)
def test_other_forms(edits, explained, tmp_path):
    (line,) = told(explained, tmp_path, edits)
    assert line.startswith("before = ")
