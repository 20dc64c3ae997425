"""GS902: a step from a parameter's values is told where the parameter itself is to learn from what comes of it."""

import pytest

PROGRAM = '''"""A start for all tasks, and weights of the samples that a step of its own is taken with."""

import torch

torch.manual_seed(0)
start = torch.randn(4, 1, requires_grad=True)
scales = torch.ones(12, 1, requires_grad=True)
outer = torch.optim.SGD([{outer}], lr=0.01)
other = torch.optim.SGD([start], lr=0.01)


def misfit(weights, x, scale):
    return (scale * (x @ weights - x.sum(1, keepdim=True)).square()).mean()


for step in range(6):
    x = torch.randn(12, 4)
    (slope,) = torch.autograd.grad(misfit(start, x, scales), start, create_graph={graph})
    fast = {fast}
    loss = {loss}
    outer.zero_grad()
    loss.backward()
    outer.step()
    {after}
'''
FAULT = {
    "outer": "start",
    "graph": "True",
    "fast": "start.detach() - 0.1 * slope",
    "loss": "misfit(fast, torch.randn(12, 4), 1)",
    "after": "pass",
}
FAULTS = {
    "its values": {},
    "by the name of data": {"fast": "torch.add(-0.1 * slope, start.data)"},
    "with decay": {"fast": "0.99 * start.detach() - 0.1 * slope.clamp(-1, 1)"},
    "beside what else is learned": {"outer": "start, scales"},
}
HEALTHY = {
    "the parameter itself": {"fast": "start - 0.1 * slope"},
    "first order": {"fast": "start - 0.1 * slope.detach()"},
    "weights of samples are learned": {
        "outer": "scales",
        "after": "other.zero_grad(); misfit(start, x, 1).backward(); other.step()",
    },
    "weights that have a loss of their own": {
        "outer": "start, scales",
        "loss": "misfit(fast, torch.randn(12, 4), 1) + misfit(start, x, 1)",
    },
    "a step by hand": {
        "graph": "False",
        "fast": "start.data - 0.1 * slope",
        "after": "start.data.copy_(fast)",
        "loss": "misfit(start, x, 1)",
    },
    "towards what was found": {
        "graph": "False",
        "fast": "start.data - 0.1 * slope",
        "loss": "(start - fast).square().sum()",
    },
    "looked at alone": {"loss": "misfit(start, x, 1) + 0 * fast.detach().sum()"},
}


def _found(explained, tmp_path, changes):
    script = tmp_path / "tasks.py"
    script.write_text(PROGRAM.format(**{**FAULT, **changes}))
    return [one.site.line for one in explained(script).findings if one.code == "GS902"]


@pytest.mark.parametrize("changes", FAULTS.values(), ids=FAULTS)
def test_a_start_that_is_cut_off_is_told(explained, tmp_path, changes):
    assert _found(explained, tmp_path, changes) == [19]


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_one_that_is_not_is_not(explained, tmp_path, changes):
    assert _found(explained, tmp_path, changes) == []
