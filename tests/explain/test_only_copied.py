"""Copies of parameters, without a graph, that are called in their place: a clone that is detached is one as well."""

import pytest

PROGRAM = '''"""Copies of weights are derived, and an optimizer holds the weights."""

import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(8, 3)
    copies = {name: one.clone().detach().requires_grad_() for name, one in net.named_parameters()}
    weight, bias = copies.values()
    loss = (torch.func.functional_call(net, copies, (x,)) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
STEP = "    optimizer.step()\n"
HANDED = "    for one, copy in zip(net.parameters(), (weight, bias)):\n        one.grad = copy.grad\n"
WRITTEN = "    with torch.no_grad():\n        net[0].weight.lerp_(weight - weight.grad, 0.1)\n"
SILENT = {
    "the first order": (STEP, HANDED + STEP),
    "written by hand": (STEP, STEP + WRITTEN),
    "loaded": (STEP, STEP + "    net.load_state_dict({name: one - one.grad for name, one in copies.items()})\n"),
    "one step that finds some": (STEP, STEP + "net(x).mean().backward()\noptimizer.step()\n"),
    "no steps": (STEP, ""),
    "snapshots beside a training": ("(net, copies, (x,))", "(net, dict(net.named_parameters()), (x,))"),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "copies.py"
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS724"]


def test_the_line_that_copies(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS724", 9)]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_gradients_that_arrive_otherwise(explained, tmp_path, edit):
    assert told(explained, tmp_path, *edit) == []
