"""GS917 names the line that replaces a frozen parameter by one that learns, and is silent where that is meant."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

EDGES = (FAULTS / "training" / "outlines_by_a_fixed_kernel.py").read_text()
FREEZES = "layer.weight.requires_grad_(False)  # expect: GS917 cause_at\n"
REPLACES = "layer.weight = nn.Parameter(kernels)  # expect: GS917\n"
TOLD = {
    "as an attribute": ((FREEZES, "layer.weight.requires_grad = False\n"),),
    "by setattr": ((REPLACES, 'setattr(layer, "weight", nn.Parameter(kernels))\n'),),
    "made on the line": ((REPLACES, "layer.weight = nn.Parameter(torch.randn(2, 1, 3, 3))\n"),),
    "asked for its sizes": ((REPLACES, "layer.weight = nn.Parameter(kernels.view(layer.weight.shape))\n"),),
}
SILENT = {
    "frozen after": ((REPLACES, f"{REPLACES}    layer.weight.requires_grad_(False)\n"),),
    "told to learn": ((REPLACES, "layer.weight = nn.Parameter(kernels, requires_grad=True)\n"),),
    "edited": ((REPLACES, f"layer.weight[0] = 0.5\n    {REPLACES}"),),
    "made of it": ((REPLACES, "layer.weight = nn.Parameter(layer.weight + kernels)\n"),),
    "kept before": ((FREEZES, f"old = [layer.weight]\n    {FREEZES}    print(len(old))\n"),),
    "of another layer": ((REPLACES, f"layer = nn.Conv2d(1, 2, 3, padding=1)\n    {REPLACES}"),),
    "another attribute": ((FREEZES, "layer.weight.requires_grad_(False)\n"), (REPLACES, "layer.kernel = kernels\n")),
    "held by nothing": (("Adam(model", "Adam(head"),),
    "frozen by who calls": (
        (
            "    optimizer =",
            "    for one in model[0].parameters():\n        one.requires_grad_(False)\n    optimizer =",
        ),
    ),
}


def _told(explained, tmp_path, edits):
    script = tmp_path / "edges.py"
    script.write_text(edited(EDGES, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS917"]


@pytest.mark.parametrize("edits", TOLD.values(), ids=list(TOLD))
def test_the_line_that_replaces_it(explained, tmp_path, edits):
    (source,) = _told(explained, tmp_path, edits)
    assert "nn.Parameter(" in source


@pytest.mark.parametrize("edits", SILENT.values(), ids=list(SILENT))
def test_one_that_is_meant_is_none(explained, tmp_path, edits):
    assert _told(explained, tmp_path, edits) == []
