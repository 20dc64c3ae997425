"""A new optimizer for weights that were saved in the same run is told where training counts on, and nowhere else."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "checkpoints"
PROGRAM = (FAULTS / "parcels_from_leg_to_leg.py").read_text()
PUT_BACK, LOOP = "        baton.put_back(states)", "    for epoch in range(begin, begin + epochs):"
KEPT = "return baton.keep(begin + epochs)"
FIRST = "routes[:, 3], 3)\n"
SILENT = {
    "nothing is averaged": [("0.05, momentum=0.9", "0.4")],
    "another rate, as for another purpose": [("0.05, momentum", "0.05 if handed is None else 0.01, momentum")],
    "it counts from the beginning": [('begin = about["epoch"]', "print(about)")],
    "it goes back to the weights of the beginning": [
        (LOOP, "    first = baton.keep(begin)\n" + LOOP),
        (KEPT, "return first"),
    ],
    "what it copies is its own": [(PUT_BACK, "        baton.put_back(baton.keep(0)[0])")],
    "the first one begins with weights of another run, too": [
        (FIRST, FIRST.replace(")", ", ([nn.Linear(6, 16).state_dict(), nn.Linear(16, 1).state_dict()], {'epoch': 0}))"))
    ],
    "the weights are those of a teacher": [
        (PUT_BACK, "        Baton(nn.Linear(6, 16), nn.Linear(16, 1)).put_back(states)")
    ],
    "the averages are handed on by hand": [
        (PUT_BACK, PUT_BACK + "\n        optimizer.state.update(about.get('averages', {}))")
    ],
    "the count is that of the caller": [('begin = about["epoch"]', "begin = epochs")],
}
OTHER_FORMS = {
    "a count in the dict": [
        ('begin = about["epoch"]', "pass"),
        (
            LOOP,
            LOOP.replace("range(begin, ", 'range(handed[1]["epoch"] if handed else 0, ').replace(
                "begin + epochs", "3 + 3 * bool(handed)"
            ),
        ),
        ("states, about = handed\n        baton.put_back(states)", "baton.put_back(handed[0])"),
    ],
    "a loop that counts for itself": [
        (LOOP, "    epoch, last = begin, begin + epochs\n    while begin < last:\n        begin += 1")
    ],
    "another optimizer": [("SGD(", "RMSprop("), ("0.05, momentum=0.9", "3e-2")],
}


def told(explained, tmp_path, edits):
    script = tmp_path / "parcels.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS870"]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_it_is_meant(edits, explained, tmp_path):
    assert told(explained, tmp_path, edits) == []


@pytest.mark.parametrize("edits", OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_other_forms(edits, explained, tmp_path):
    (line,) = told(explained, tmp_path, edits)
    assert line.startswith("baton.put_back(")
