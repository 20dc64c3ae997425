"""A state that is set anew one loop too far out is told at the line that does so, where each round is of other samples;
where a round goes on with the one before, it is told where it is carried."""

import re
from pathlib import Path

import pytest

from tests.edited import edited

FAULTS = Path(__file__).parent.parent.parent / "sample_scripts" / "faults" / "second_backward"
TANKS = re.sub(" *# expect.*", "", (FAULTS / "tanks_emptied_each_epoch.py").read_text())
EMPTIED = "    basin.empty()\n"
OF_ALL = "        for tank in self.tanks:\n            tank.empty()\n"
BATCHES = TANKS[TANKS.index("    order = ") : TANKS.index("def learn")]
KEPT = "        self.water = self.water * self.leak.sigmoid() + self.inlet(flow)\n        return self.water.relu()\n"
NONE_YET = "        if self.water is None:\n            self.water = torch.zeros_like(flow)\n"
LOOP = "    for storm, flood in batches(storms, floods):\n"
TOLD = {
    "by a function": (
        (
            (
                "def batches",
                "def dry(basin):\n    for tank in basin.tanks:\n        tank.water = None\n\n\ndef batches",
            ),
            (EMPTIED, "    dry(basin)\n"),
        ),
        "dry(basin)",
    ),
    "from outside": (
        ((EMPTIED, "    for tank in basin.tanks:\n        tank.water = None\n"),),
        "tank.water = None",
    ),
    "by detaching": (
        (("        self.water = None\n", "        if self.water is not None:\n            self.water.detach_()\n"),),
        "basin.empty()",
    ),
    "by what all modules have": (
        (
            (
                OF_ALL,
                "        for part in self.modules():\n"
                "            if isinstance(part, Tank):\n                part.empty()\n",
            ),
        ),
        "basin.empty()",
    ),
    "in a dict": (
        (
            (
                "self.water = nn.Linear(1, 1), nn.Parameter(torch.zeros(1)), None",
                "self.water = nn.Linear(1, 1), nn.Parameter(torch.zeros(1)), {}",
            ),
            ("        self.water = None\n", "        self.water.clear()\n"),
            (NONE_YET, ""),
            (
                KEPT,
                "        before = self.water.get('now', torch.zeros(1))\n"
                "        self.water['now'] = before * self.leak.sigmoid() + self.inlet(flow)\n"
                "        return self.water['now'].relu()\n",
            ),
        ),
        "basin.empty()",
    ),
    "places of a shuffled order": (
        (
            (
                BATCHES,
                "    order = torch.randperm(STORMS)\n    for at in range(0, STORMS, 16):\n"
                "        rows = order[at : at + 16]\n        yield storms[rows], floods[rows]\n\n\n",
            ),
        ),
        "basin.empty()",
    ),
    "a loader that was handed in": (
        (
            (LOOP, "    for storm, flood in loader:\n"),
            ("def learn(basin, optimizer, storms, floods)", "def learn(basin, optimizer, loader)"),
            ("learn(basin, optimizer, storms, floods):.4f", "learn(basin, optimizer, loader):.4f"),
            (
                "optimizer = torch",
                "data = torch.utils.data.TensorDataset(storms, floods)\n"
                "loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)\noptimizer = torch",
            ),
        ),
        "basin.empty()",
    ),
    "drawn in each round": (
        (
            (
                LOOP,
                "    for _ in range(3):\n        rows = torch.randint(STORMS, (16,))\n"
                "        storm, flood = storms[rows], floods[rows]\n",
            ),
        ),
        "basin.empty()",
    ),
}
AS_BEFORE = {
    "one after the other": ((("torch.randperm(STORMS)", "torch.arange(STORMS)"),),),
    "windows of shuffled storms": (
        (
            (
                LOOP,
                "    rows = torch.randperm(STORMS)\n    taken = storms[rows]\n    flood = floods[rows]\n"
                "    for storm in taken.split(2, 1):\n",
            ),
        ),
    ),
    "once in each round": ((("flow in storms.unbind(1)", "flow in (storms.mean(1),)"),),),
    "now and then in the loop": (((LOOP, f"{LOOP}        if torch.rand(()) > 2:\n            basin.empty()\n"),),),
    "another attribute": (
        (
            ("        self.water = None\n", "        self.rain = None\n"),
            (
                "        super().__init__()\n        self.inlet",
                "        super().__init__()\n        self.rain = None\n        self.inlet",
            ),
        ),
    ),
    "that of another": (
        (
            (EMPTIED, "    other.empty()\n"),
            ("basin = Basin()\n", "basin, other = Basin(), Basin()\n"),
        ),
    ),
    "never": (((EMPTIED, ""),),),
}


def told(explained, folder, edits):
    script = folder / "tanks.py"
    script.write_text(edited(TANKS, *edits))
    (found,) = (one for one in explained(script).findings if one.code == "GS712")
    return found.site.source


@pytest.mark.parametrize(("edits", "line"), TOLD.values(), ids=TOLD)
def test_the_line_that_sets_it_anew_too_far_out(explained, tmp_path, edits, line):
    assert told(explained, tmp_path, edits).startswith(line)


@pytest.mark.parametrize("edits", AS_BEFORE.values(), ids=AS_BEFORE)
def test_it_is_told_where_it_is_carried(explained, tmp_path, edits):
    assert told(explained, tmp_path, edits[0]).startswith("self.water = self.water * ")
