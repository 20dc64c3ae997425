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
