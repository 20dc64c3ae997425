"""A part between those that an optimizer was given one by one is told; one that may be meant to rest is not."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "rivers_seen_through_a_neck.py").read_text()
MADE = "training = Training(Gauge())"
FAST = '{"params": self.gauge.level.parameters()}'
SILENT = {
    "it is frozen": [(MADE, "gauge = Gauge()\ngauge.neck.requires_grad_(False)\ntraining = Training(gauge)")],
    "it is spoken of": [(MADE, "gauge = Gauge()\nprint(gauge.neck)\ntraining = Training(gauge)")],
    "a text speaks of it": [(MADE, f'RESTS = ("neck",)\n{MADE}')],
    "it was loaded": [
        (
            MADE,
            "gauge = Gauge()\ngauge.load_state_dict({k: v + 0.01 for k, v in gauge.state_dict().items()})\n"
            "training = Training(gauge)",
        )
    ],
    "one part alone is given": [("[slow, fast]", "[slow]"), (f"        fast = {FAST}  # expect: GS817\n", "")],
    "it comes first": [
        (
            "self.level(self.neck(self.eye(pictures))).squeeze(1)",
            "self.level(self.eye(self.neck(pictures))).squeeze(1)",
        ),
        (
            "self.neck = nn.Sequential(nn.LayerNorm(216), nn.Linear(216, 12), nn.GELU())",
            "self.neck = nn.Conv2d(1, 1, 1)",
        ),
        ("nn.Linear(12, 1)", "nn.Linear(216, 1)"),
    ],
    "all are given": [
        (FAST, '{"params": [*self.gauge.level.parameters(), *list(self.gauge.children())[1].parameters()]}')
    ],
}


def told(explained, tmp_path, *edits):
    script = tmp_path / "gauge.py"
    script.write_text(edited(PROGRAM, *edits))
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS817"]


def test_names_of_parameters(explained, tmp_path):
    given = '{"params": [one for _, one in self.gauge.level.named_parameters()]}'
    assert told(explained, tmp_path, (FAST, given)) == [("GS817", 25)]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_it_is_not_told(explained, tmp_path, edits):
    assert told(explained, tmp_path, *edits) == []
