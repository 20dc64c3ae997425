"""A parameter around a computed value is told at the line that makes it, wherever that stands."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "sample_scripts/faults/no_gradient"
MADE = "nn.Parameter(stiffness)"
PLACES = {
    "beside another parameter": [("        self.spring.stiffness", "        self.other = nn.Parameter(torch.zeros(2))\n"
                                  "        self.extra = nn.Parameter(self.offset)\n        self.spring.stiffness")],
    "of what a method gives": [("self.reader(alloy).exp()", "self.read(alloy)"),
                               ("    def forward", "    def read(self, "
                               "alloy):\n        return self.reader(alloy).exp()\n\n    def forward")],
    "in the method that reads it": [(MADE, "stiffness"), ("speed = torch.zeros_like(place)", "speed = "
                                    "torch.zeros_like(place)\n        self.stiffness = nn.Parameter(self.stiffness)"),
                                    ("truth.swing(place)", "truth.swing(place).detach()")],
    "in a method that is given it": [
        ("stiffness = self.reader(alloy).exp()", "self.spring.take(self.read(alloy))"),
        ("        self.spring.stiffness = nn.Parameter(stiffness)", "        # it is given"),
        ("    def forward", "    def read(self, alloy):\n        return self.reader(alloy).exp()\n\n    def forward"),
        ("    def force", "    def take(self, value):\n        self.stiffness = nn.Parameter(value)\n\n    def force"),
    ],
    "by the data of what a method is given": [
        ("stiffness = self.reader(alloy).exp()", "self.spring.take(value=self.reader(alloy).exp())"),
        ("        self.spring.stiffness = nn.Parameter(stiffness)", "        # it is given"),
        ("    def force", "    def take(self, value):\n        self.stiffness = value.data\n\n    def force"),
    ],
    "around what a method gives": [
        ("        stiffness = self.reader(alloy).exp()\n", ""),
        (MADE, "nn.Parameter(self.read(alloy))"),
        ("    def forward", "    def read(self, alloy):\n        return self.reader(alloy).exp()\n\n    def forward"),
    ],
    "by data": [(MADE, "stiffness.data")],
}  # fmt: skip


@pytest.mark.parametrize("edits", PLACES.values(), ids=PLACES)
def test_the_line_is_named(explained, tmp_path, edits):
    text = (FOLDER / "stiffness_of_a_plain_object.py").read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    script = tmp_path / "bench.py"
    script.write_text(text)
    found = [(one.code, text.splitlines()[one.site.line - 1].strip()) for one in explained(script).findings]
    assert [one for one in found if one[0].startswith("GS72")] == [("GS721", line_of(text))]


def line_of(text):
    wanted = (
        "stiffness = nn.Parameter(s",
        "stiffness = nn.Parameter(self.stiffness)",
        "stiffness.data",
        "= value.data",
        "nn.Parameter(self.read(",
        "nn.Parameter(value)",
    )
    return next(line.strip() for line in text.splitlines() if any(one in line for one in wanted))


def test_what_no_optimizer_trains_is_told_as_not_held_where_it_is_made(explained, tmp_path):
    text = (FOLDER / "stiffness_of_a_plain_object.py").read_text()
    text = text.replace("Adam(bench.parameters(),", "Adam([bench.offset],")
    script = tmp_path / "bench.py"
    script.write_text(text)
    found = [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS725"]
    assert found == [("GS725", text[: text.index(MADE)].count("\n") + 1)]
