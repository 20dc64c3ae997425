"""What is called learned and is no parameter is told; what says that it is not, or is moved otherwise, is not."""

from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "training"
PROGRAM = (FAULTS / "learned_offsets_of_stations.py").read_text()
MADE = "self.offsets = torch.zeros(stations, instruments)  # expect: GS709"
SAYS = '"""A learned offset for each station and each instrument."""'
USES = "return measured - self.offsets[station]"
CLEARS = "    optimizer.zero_grad()\n"
SILENT = {
    "nothing says so": [(SAYS, '"""An offset for each station and each instrument."""')],
    "it is not learned": [("A learned offset for", "An offset that is not learned, for")],
    "it was learned before": [("A learned offset", "A pretrained, learned offset")],
    "a comment says otherwise": [("# expect: GS709", "# fixed in this stage")],
    "it is computed": [("torch.zeros(stations, instruments)", "torch.arange(stations * 4.0).view(-1, 4) / 48")],
    "it is given": [
        ("torch.zeros(stations, instruments)", "stations"),
        ("StationOffsets(12, 4)", "StationOffsets(errors, 4)"),
    ],
    "the class has a layer": [(MADE, f"{MADE}; self.scale = nn.Linear(4, 4)"), (USES, f"{USES}.add(self.scale.bias)")],
    "its forward moves it": [(USES, "self.offsets[station] += 0.01 * measured; " + USES)],
    "the loop moves it": [(CLEARS, f"{CLEARS}    offsets.offsets.add_(0.01)\n")],
    "the loop moves its buffers": [
        (MADE, 'self.register_buffer("offsets", torch.zeros(stations, instruments))'),
        (CLEARS, f"{CLEARS}    for one in offsets.buffers():\n        one.mul_(0.9)\n"),
    ],
    "the loop moves all state": [
        (MADE, 'self.register_buffer("offsets", torch.zeros(stations, instruments))'),
        (CLEARS, f"{CLEARS}    for one in offsets.state_dict().values():\n        one.mul_(0.9)\n"),
    ],
    "it requires grad": [("instruments)  #", "instruments, requires_grad=True)  #")],
    "an optimizer is given it": [("[*offsets.parameters(),", "[offsets.offsets.requires_grad_(),")],
    "it is computed without gradients": [
        ("read(offsets(truth + errors[station], station))", "read(given)"),
        (
            "    truth = torch.randn(64, 4)\n",
            """    truth = torch.randn(64, 4)
    with torch.no_grad():
        given = offsets(truth + errors[station], station)
""",
        ),
    ],
}
OTHER_FORMS = {
    "its class says so": [
        (SAYS, ""),
        ("class StationOffsets", "class LearnedOffsets"),
        ("read = StationO", "read = LearnedO"),
    ],
    "a comment says so": [(SAYS, ""), ("# expect: GS709", "# learnable")],
    "a buffer": [
        ("self.offsets = torch.zeros(stations, instruments)", "self.offsets = nn.Buffer(torch.rand(stations, 4))")
    ],
    "a factor": [("torch.zeros(stations, instruments)", "0.02 * torch.randn(stations, instruments)")],
    "it is printed": [("print(", "print(offsets.offsets.std(), ")],
}


def told(explained, tmp_path, edits):
    script = tmp_path / "stations.py"
    script.write_text(edited(PROGRAM, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS709"]


@pytest.mark.parametrize("edits", SILENT.values(), ids=SILENT)
def test_it_is_meant(edits, explained, tmp_path):
    assert told(explained, tmp_path, edits) == []


@pytest.mark.parametrize("edits", OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_other_forms(edits, explained, tmp_path):
    (line,) = told(explained, tmp_path, edits)
    assert line.startswith("self.offsets = ")
