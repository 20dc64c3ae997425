"""Who freezes what state_dict() gives freezes nothing, and is told where all of it trains on."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "ears_kept_by_their_state.py").read_text()
STATE, SETS = "self.state_dict().items()", "values.requires_grad_(False)"
SILENT = {
    "it gives the parameters": [(STATE, "self.state_dict(keep_vars=True).items()")],
    "the copies are used": [(f"                {SETS}", f"                {SETS}\n            print(values.sum())")],
    "it is frozen besides": [("moods = Moods()", "moods = Moods()\nmoods.ears.requires_grad_(False)")],
    "it is never called": [('moods.hold("ears")', "moods.parameters()")],
    "it is called when all is over": [
        ('moods.hold("ears")', "moods.parameters()"),
        ('print(f"{loss.item():.3f}")', 'moods.hold("ears")'),
    ],
    "a second stage freezes them": [
        (
            'print(f"{loss.item():.3f}")',
            """moods.hold("ears")
optimizer = torch.optim.Adam(moods.requires_grad_(False).mood.requires_grad_(True).parameters(), lr=1e-2)
for _ in range(4):
    optimizer.zero_grad()
    nn.functional.cross_entropy(moods(voices), voices[:, :4].argmax(1)).backward()
    optimizer.step()""",
        ),
        ('moods.hold("ears"), lr', "moods.parameters(), lr"),
    ],
    "it is thawed": [(SETS, "values.requires_grad_(True)")],
}


def told(explained, tmp_path, *edits):
    script = tmp_path / "moods.py"
    script.write_text(edited(PROGRAM, *edits))
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS813"]


def test_its_values_alone(explained, tmp_path):
    edits = [
        ("name, values in self.state_dict().items()", "values in self.state_dict().values()"),
        ("name.startswith(part)", "part"),
        (SETS, "values.requires_grad = False"),
    ]
    assert told(explained, tmp_path, *edits) == [("GS813", 20)]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_it_is_not_told(explained, tmp_path, edits):
    assert told(explained, tmp_path, *edits) == []
