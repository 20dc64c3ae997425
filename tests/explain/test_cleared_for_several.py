"""A zero_grad() that stands before several steps, and loops of steps that clear, or that mean what is left."""

import pytest

PROGRAM = '''"""Three steps, cleared once."""

import torch

net = torch.nn.Linear(3, 1)
other = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
second = torch.optim.SGD(other.parameters(), lr=0.01)
for _ in range(6):
    optimizer.zero_grad()
    for _ in range(3):
        loss = (net(torch.randn(4, 3)) - 1).square().mean()
        loss.backward()
        optimizer.step()
    second.zero_grad()
    other(torch.randn(4, 3)).square().mean().backward()
    second.step()
'''
SILENT = {
    "cleared by hand": (
        "        loss.backward()",
        "        net.weight.grad = net.bias.grad = None\n        loss.backward()",
    ),
    "filled with zeros": (
        "        optimizer.step()",
        "        optimizer.step()\n        net.weight.grad.zero_()\n        net.bias.grad.zero_()",
    ),
    "what is left is made smaller": (
        "        optimizer.step()",
        "        optimizer.step()\n        for one in net.parameters():\n            one.grad.mul_(0.5)",
    ),
    "one step": ("        optimizer.step()\n", "    optimizer.step()\n"),
    "one loss for several steps": (
        "for _ in range(3):",
        "for step in range(3):",
        "loss.backward()",
        "loss.backward() if step == 0 else None",
    ),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "judge.py"
    assert not edit or edit[0] in PROGRAM
    text = PROGRAM
    for before, after in zip(edit[::2], edit[1::2], strict=True):
        text = text.replace(before, after)
    script.write_text(text)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS801"]


def test_the_line_that_clears_once(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS801", 10)]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_steps_that_are_meant(explained, tmp_path, edit):
    assert told(explained, tmp_path, *edit) == []
