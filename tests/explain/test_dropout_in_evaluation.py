"""An attention that drops in evaluation is told; one that says when it drops, or that is meant to draw, is not."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "songs_of_whales_attended.py").read_text()
GIVEN = "dropout_p=self.dropped"
SILENT = {
    "it says when": [(GIVEN, "dropout_p=self.dropped if self.whale is not None else 0.0")],
    "it never drops": [("dropped=0.25", "dropped=0.0")],
    "nothing is evaluated": [("    listener.eval()\n", "")],
    "it draws numbers of its own": [
        (GIVEN, "dropout_p=0.0"),
        ("self.whale(seen.mean(1))", "self.whale(seen.mean(1) * torch.ones(16).bernoulli_(0.9))"),
    ],
}


def told(explained, tmp_path, *edits):
    script = tmp_path / "whales.py"
    script.write_text(edited(PROGRAM, *edits))
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS856"]


def test_its_place_says_it(explained, tmp_path):
    assert told(explained, tmp_path, (GIVEN, "None, self.dropped")) == [("GS856", 19)]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_it_is_not_told(explained, tmp_path, edits):
    assert told(explained, tmp_path, *edits) == []
