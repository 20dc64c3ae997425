"""A validation whose eval() is taken back at once, and train() that is meant there."""

import pytest

PROGRAM = '''"""A model is woken in its validation."""

import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


@torch.no_grad()
def gathered():
    return net(torch.randn(4, 3))


for _ in range(3):
    net.train()
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.randn(4, 3)).square().mean().backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        for _ in range(2):
            net.train()
            net(torch.randn(4, 3))
'''
SILENT = {
    "dropout alone samples": ("            net.train()", "            net[1].train()"),
    "evaluated before": ("    with torch.no_grad():\n", "    with torch.no_grad():\n        net(torch.randn(4, 3))\n"),
    "evaluated after": (
        "            net(torch.randn(4, 3))\n",
        "            net(torch.randn(4, 3))\n        net.eval()(torch.randn(4, 3))\n",
    ),
    "nothing depends on the mode": ("torch.nn.Dropout()", "torch.nn.Tanh()"),
    "data are gathered by it": (
        """    net.eval()
    with torch.no_grad():
        for _ in range(2):
            net.train()
            net(torch.randn(4, 3))
""",
        "    net.eval()\n",
        "for _ in range(3):\n    net.train()\n",
        "for _ in range(3):\n    net.train()\n    gathered()\n",
    ),
    "gradients are on": ("with torch.no_grad()", "with torch.enable_grad()"),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "woken.py"
    assert not edit or edit[0] in PROGRAM
    text = PROGRAM
    for before, after in zip(edit[::2], edit[1::2], strict=True):
        text = text.replace(before, after)
    script.write_text(text)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS811"]


def test_the_line_that_wakes_it(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS811", 23)]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_a_mode_that_is_meant(explained, tmp_path, edit):
    assert told(explained, tmp_path, *edit) == []
