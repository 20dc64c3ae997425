"""What a Function's forward computed and kept is told where a derivative through it is differentiated and trained."""

import pytest

from gradscope.model.finding import Severity
from tests.edited import edited

PROGRAM = '''"""A critic whose slope is held near one, with a smooth activation by hand."""

import torch
from torch import nn
from torch.autograd.function import once_differentiable


class Bend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        slope = torch.sigmoid(x)
        ctx.save_for_backward(slope, x)
        return torch.nn.functional.softplus(x)

    @staticmethod
    def backward(ctx, gradient):
        slope, x = ctx.saved_tensors
        slope = getattr(ctx, "slope", slope)
        return gradient * slope


class Other(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gradient, slope, x):
        ctx.save_for_backward(gradient, slope)
        return slope * gradient

    @staticmethod
    def backward(ctx, again):
        gradient, slope = ctx.saved_tensors
        return again * slope, None, again * gradient * slope * (1 - slope)


torch.manual_seed(0)
first, last = nn.Linear(3, 16), nn.Linear(16, 1)
optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=1e-2)
for step in range(4):
    x = torch.randn(8, 3, requires_grad=True)
    value = last(Bend.apply(first(x)))
    (slope,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    loss = value.mean() + (slope.norm(dim=1) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
BACKWARD = "    def backward(ctx, gradient):\n        slope"
SLOPE = "slope = torch.sigmoid(x)"
SILENT = {
    "computed again": ("return gradient * slope\n", "return gradient * torch.sigmoid(x)\n"),
    "a mask": (SLOPE, "slope = (x > 0).to(x.dtype)"),
    "a sign": (SLOPE, "slope = torch.sign(x)"),
    "rounded": (SLOPE, "slope = torch.sigmoid(x).round()"),
    "taken out of the graph": (SLOPE, "slope = torch.sigmoid(x.detach())"),
    "of no input": (SLOPE, "slope = torch.rand(16)"),
    "not differentiated": ("value.mean() + (slope.norm(dim=1) - 1).square().mean()", "value.mean()"),
    "its value alone": ("slope.norm(dim=1)", "slope.detach().norm(dim=1) * value"),
    "no graph": ("create_graph=True", "retain_graph=True"),
    "nothing trained goes in": ("Bend.apply(first(x))", "first.bias + Bend.apply(x.mean(1, keepdim=True))"),
    "what is handed on": ("return torch.nn.functional.softplus(x)", "return x.clone()"),
    "what is rounded": ("return torch.nn.functional.softplus(x)", "return x.round()"),
    "a backward that has one": ("return gradient * slope\n", "return Other.apply(gradient, slope.view(8, 16), x)\n"),
    "once differentiable": (BACKWARD, "    @once_differentiable\n" + BACKWARD),
}
TOLD = {
    "as it is": ((), 12, Severity.WARNING),
    "kept on ctx": (
        ("slope, x)\n        return", "x, x)\n        ctx.slope = slope\n        return"),
        11,
        Severity.WARNING,
    ),
    "with the input": (("return gradient * slope\n", "return gradient * slope + 0 * x\n"), 12, Severity.INFO),
    "a view": (("return gradient * slope\n", "return gradient * slope.view(8, 16)\n"), 12, Severity.WARNING),
    "by a second grad": (
        ("loss.backward()", "first.weight.grad = torch.autograd.grad(loss, first.weight)[0]"),
        12,
        Severity.WARNING,
    ),
}


def told(explained, tmp_path, *edits):
    script = tmp_path / "critics.py"
    script.write_text(edited(PROGRAM, *edits))
    return [(one.site.line, one.severity) for one in explained(script).findings if one.code in ("GS205", "GS207")]


@pytest.mark.parametrize(("edit", "line", "severity"), TOLD.values(), ids=TOLD)
def test_the_line_that_saves(explained, tmp_path, edit, line, severity):
    assert told(explained, tmp_path, *([edit] if edit else ())) == [(line, severity)]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_nothing_is_missed(explained, tmp_path, edit):
    assert told(explained, tmp_path, edit) == []
