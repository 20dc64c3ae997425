"""GS909: only a hook that computes from the weights alone, in the place of their gradient, is told."""

import pytest

from tests.edited import edited

PROGRAM = '''"""The yield of a field, with a penalty on the weights that a hook brings in."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
weight = model[0].weight
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
kept = {one: torch.zeros_like(one) for one in model.parameters()}
rate = 0.01


def slope_of(p):
    return p.detach() * rate + p.grad * 1


def penalise(p):
    p.grad = rate * p.detach()


handle = weight.register_post_accumulate_grad_hook(penalise)
for step in range(3):
    rain = torch.rand(16, 3)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(rain), rain.prod(1, keepdim=True)).backward()
    optimizer.step()
'''
SET = "p.grad = rate * p.detach()"
HUNG = "handle = weight.register_post_accumulate_grad_hook(penalise)"
AS_TENSOR = (HUNG, "handle = weight.register_hook(penalise)")
TOLD = {
    "a product": (),
    "signs": ((SET, "p.grad = p.detach().sign() * rate"),),
    "a name": ((SET, "pull = p.data.clone().mul_(rate)\n    p.grad = pull"),),
    "of matrices": ((SET, f"if p.dim() > 1:\n        {SET}"),),
    "returned": (AS_TENSOR, (SET, "return rate * weight.detach()")),
    "a lambda": ((HUNG, "handle = weight.register_hook(lambda g: rate * weight.detach())"),),
}
SILENT = {
    "added": ((SET, "p.grad = p.grad + rate * p.detach()"),),
    "added in place": ((SET, "p.grad.add_(p.detach(), alpha=rate)"),),
    "augmented": ((SET, "p.grad += rate * p.detach()"),),
    "by another name": ((SET, "g = p.grad\n    p.grad = rate * p.detach()\n    p.grad.add_(g)"),),
    "by getattr": ((SET, 'g = getattr(p, "grad")\n    p.grad = rate * p.detach()\n    kept[p] = g'),),
    "in a function": ((SET, "p.grad = slope_of(p)"),),
    "kept first": ((SET, f"kept[p].copy_(p.grad)\n    {SET}"),),
    "from what was kept": ((SET, "p.grad = kept[p] + rate * p.detach()"),),
    "what was kept": ((SET, "size = p.detach() * rate\n    p.grad = kept[p]"),),
    "cleared": ((SET, "p.grad = None"),),
    "zeros": ((SET, "p.grad = torch.zeros_like(p)"),),
    "times zero": ((SET, "p.grad = 0 * p.detach()"),),
    "noise": ((SET, "p.grad = rate * torch.randn_like(p)"),),
    "the weights themselves": ((SET, "p.grad = p.detach().clone()"),),
    "masked": ((SET, "p.grad = p.grad * (p.detach().abs() > 0.1)"),),
    "clipped": ((SET, "p.grad = p.grad.clamp(-rate, rate)"),),
    "by a schedule": ((SET, f"if step > 1:\n        {SET}"),),
    "an update": ((SET, "p.data.sub_(p.grad, alpha=rate)\n    p.grad = None"),),
    "taken by another hook": ((HUNG, f"{HUNG}\nweight.register_hook(lambda g: kept[weight].copy_(g) and None)"),),
    "not stepped": (("Adam(model.parameters(), lr", "Adam(model[2].parameters(), lr"),),
    "before the gradient is added": (AS_TENSOR, (SET, "weight.grad = rate * weight.detach()")),
    "returned with it": (AS_TENSOR, (SET, "return p + rate * weight.detach()")),
    "returned and unused by name": (AS_TENSOR, ("penalise(p):", "penalise(_p):"), (SET, "return rate * weight")),
    "returned from what is kept": (AS_TENSOR, (SET, "return kept[weight]")),
    "nothing returned": (AS_TENSOR, (SET, "kept[weight] = rate * weight.detach()")),
}


def _found(explained, path, edits):
    script = path / "field.py"
    text = edited(PROGRAM, *edits)
    script.write_text(text)
    lines = [one.site.line for one in explained(script).findings if one.code == "GS909"]
    return [text.splitlines()[line - 1].strip() for line in lines]


@pytest.mark.parametrize("edits", TOLD.values(), ids=list(TOLD))
def test_a_gradient_of_the_weights_alone_is_told(explained, tmp_path, edits):
    (line,) = _found(explained, tmp_path, edits)
    assert line.startswith(("p.grad = ", "return ", "handle = ")), line


@pytest.mark.parametrize("edits", SILENT.values(), ids=list(SILENT))
def test_what_knows_of_the_gradient_is_not(explained, tmp_path, edits):
    assert _found(explained, tmp_path, edits) == []
