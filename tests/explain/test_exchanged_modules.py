"""GS727 names the line that has a whole module built anew, and that of a layer where the module lives on."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

HARVEST = (FAULTS / "no_gradient" / "back_to_the_best_harvest.py").read_text()
ANEW, LOADS = "self.field = Field()  # expect: GS727", "        self.field.load_state_dict(self.best)\n"
FIRST, MAIN = "    def __init__(self):\n        self.field = Field()\n", "season.go_back()"
HELPER = "def sown():\n    field = Field()\n    return field.train()\n\n\nclass Season:"
NAMED = {
    "a function builds it": (
        (("class Season:", HELPER), (ANEW, "self.field = sown()"), (FIRST, FIRST.replace("Field", "sown"))),
        "self.field = sown()",
    ),
    "the same line built the first": (
        (
            (FIRST, "    def __init__(self):\n        self.best = None\n        self.go_back()\n"),
            ("        self.best, self.lowest = None", "        self.best, self.lowest = self.best"),
            (LOADS, "        if self.best is not None:\n    " + LOADS),
        ),
        "self.field = Field()",
    ),
    "the program itself": (
        (
            ("def go_back(self):\n        " + ANEW, "def go_back(self):"),
            (MAIN, "season.field = Field()\n            season.go_back()"),
        ),
        "season.field = Field()",
    ),
    "a block of it": (
        (
            (
                "class Field(",
                "class Crop(nn.Sequential):\n    def __init__(self):\n"
                "        super().__init__(nn.Tanh(), nn.Linear(12, 1))\n\n\nclass Field(",
            ),
            (ANEW, "self.field.crop = Crop()"),
        ),
        "self.field.crop = Crop()",
    ),
    "a layer of it": (((ANEW, "self.field.soil = nn.Linear(5, 12)"),), "self.field.soil = nn.Linear(5, 12)"),
    "a layer of it, by its method": (
        (
            ("    def forward(", "    def rest(self):\n        self.soil = nn.Linear(5, 12)\n\n    def forward("),
            (ANEW, "self.field.rest()"),
        ),
        "self.soil = nn.Linear(5, 12)",
    ),
}


def _told(explained, tmp_path, edits):
    script = tmp_path / "harvest.py"
    script.write_text(edited(HARVEST, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS727"]


@pytest.mark.parametrize(("edits", "line"), NAMED.values(), ids=NAMED)
def test_the_line_that_has_it_built_anew(explained, tmp_path, edits, line):
    (source,) = _told(explained, tmp_path, edits)
    assert source.startswith(line)


def test_a_module_that_is_built_beside_the_one_that_is_trained_is_none(explained, tmp_path):
    assert not _told(explained, tmp_path, ((ANEW, "self.other = Field()"),))
