"""What torch sums of a backward's gradient is a hint where forward takes a mean, and nothing where it sums."""

import pytest

PROGRAM = '''"""A weighted square by hand."""

import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return (x**2 * weight).mean()

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        by_weight = gradient * x**2
        return gradient * 2 * x * weight / x.numel(), by_weight


weight = torch.ones(3, requires_grad=True)
Square.apply(torch.randn(5, 3), weight).backward()
'''
CASES = {
    "a mean": (("", ""), [("GS403", 15)]),
    "a sum": ((".mean()", ".sum()"), []),
    "summed by itself": (("x**2\n        return", "(x**2).sum(0) / 15\n        return"), []),
}


@pytest.mark.parametrize(("edit", "expected"), CASES.values(), ids=list(CASES))
def test_what_forward_does(explained, tmp_path, edit, expected):
    script = tmp_path / "squares.py"
    script.write_text(PROGRAM.replace(*edit) if edit[0] else PROGRAM)
    assert [(one.code, one.site.line) for one in explained(script).findings] == expected


LAYER = '''"""A layer that gives a gradient for each sample."""

import torch


class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x)
        return {forward}

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return None, {backward}


class Centred(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {{"lr": 0.1}})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            p -= 0.1 * (p.grad - p.grad.mean(0))


weight = torch.nn.Parameter(torch.ones({shape}))
optimizer = Centred([weight])
for _ in range(4):
    x = torch.randn(6, 5)
    loss = (Layer.apply(x, weight) - 1).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {read}
'''
CONTRACTED = {
    "forward": "x @ weight",
    "backward": "x.unsqueeze(2) * gradient.unsqueeze(1)",
    "shape": "5, 2",
    "read": "spread = weight.grad.std(0)",
}
SPREAD = {"forward": "x.unsqueeze(2) * weight", "backward": "gradient * x.unsqueeze(2)"}
VECTOR = {"shape": "5", "backward": "gradient.unsqueeze(1) * x", "read": "size = weight.grad.norm()"}
SUMMED = {"backward": "(x.unsqueeze(2) * gradient.unsqueeze(1)).sum(0)"}
LAYERS = {
    "over the samples": ({}, [("GS403", 36)]),
    "as a whole": ({"read": "size = weight.grad.norm()"}, []),
    "in an optimizer": ({"read": "pass"}, []),
    "of what is spread": (SPREAD, []),
    "of a vector": (VECTOR, []),
    "of its own sum": (SUMMED, []),
}


@pytest.mark.parametrize(("changes", "expected"), LAYERS.values(), ids=list(LAYERS))
def test_what_the_gradient_of_a_parameter_is_taken_for(explained, tmp_path, changes, expected):
    script = tmp_path / "layers.py"
    script.write_text(LAYER.format(**{**CONTRACTED, **changes}))
    found = [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS403"]
    assert found == expected
