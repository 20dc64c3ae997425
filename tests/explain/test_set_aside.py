"""GS727 also tells a net that was tried out before another took its place; one that only rests is none."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

TIDES = (FAULTS / "training" / "tides_tried_before_they_are_learned.py").read_text()
SOWS = "        self.sow(seed)  # expect: GS727\n"
LAYER = "class Tide(nn.Linear):\n    def __init__(self, width):\n        super().__init__(2, 1)\n\n\nclass Harbour"
NAMED = {
    "in the constructor": (((SOWS, "        self.net = Tide(12)\n"),), "self.net = Tide(12)"),
    "with a loss of which nothing comes": (
        (("tuple(self.net(sky).shape)", "self.net(sky).sum().item()"),),
        "self.sow(",
    ),
    "one layer": (
        ((TIDES[TIDES.index("class Tide") : TIDES.index("class Harbour")], LAYER.removesuffix("class Harbour")),),
        "self.sow(",
    ),
}
SILENT = {
    "other shapes": ((SOWS, "        self.other = Tide(9)\n"), ("self.net(sky), height", "self.other(sky), height")),
    "used again": (
        ("        loss.backward()", "        self.show(sky)\n        loss.backward()"),
        (SOWS, "        self.used, self.net = self.net, Tide(12)\n"),
        ("tuple(self.net(", "tuple(getattr(self, 'used', self.net)("),
    ),
    "stepped by hand": (
        (
            "        return loss",
            "        [torch.no_grad()(p.sub_)(0.1 * p.grad) for p in self.net.parameters()]\n        return loss",
        ),
    ),
    "held besides": ((SOWS, SOWS + '        self.optimizer.add_param_group({"params": self.net.parameters()})\n'),),
}


def _told(explained, tmp_path, edits):
    script = tmp_path / "tides.py"
    script.write_text(edited(TIDES, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS727"]


@pytest.mark.parametrize(("edits", "line"), NAMED.values(), ids=NAMED)
def test_the_line_that_puts_another_in_its_place(explained, tmp_path, edits, line):
    (source,) = _told(explained, tmp_path, edits)
    assert source.startswith(line)


@pytest.mark.parametrize("edits", SILENT.values(), ids=list(SILENT))
def test_one_that_is_in_use_or_held_is_none(explained, tmp_path, edits):
    assert _told(explained, tmp_path, edits) == []
