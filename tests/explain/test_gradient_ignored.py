"""A backward that does not look at what it is given is told where that is not 1."""

import pytest

PROGRAM = '''"""A cube by hand."""

import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x**2


x = torch.randn(5, requires_grad=True)
cube = Cube.apply(x)
loss = (cube * 2).sum()
loss.backward()
'''
SILENT = {
    "it is used": ("return 3", "return gradient * 3"),
    "it is used with others": ("gradient):\n        (x,) =", "*gradients):\n        gradients, (x,) = gradients[0],"),
    "it is 1": ("(cube * 2).sum()", "cube.view(1, 5).sum() + 1.0"),
    "it stops": ("return 3 * x**2", "return torch.zeros_like(x)"),
    "it gives none": ("return 3 * x**2", "return None"),
}


def told(explained, tmp_path, *edit):
    script = tmp_path / "cubes.py"
    script.write_text(PROGRAM.replace(*edit) if edit else PROGRAM)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS418"]


def test_the_line_that_returns(explained, tmp_path):
    assert told(explained, tmp_path) == [("GS418", 15)]


@pytest.mark.parametrize("edit", SILENT.values(), ids=SILENT)
def test_nothing_is_lost(explained, tmp_path, edit):
    assert told(explained, tmp_path, *edit) == []


def test_a_mean_of_one_number_hands_on_1(explained, tmp_path):
    assert told(explained, tmp_path, "(cube * 2).sum()", "cube.mean()") == [("GS418", 15)]
    script = (tmp_path / "cubes.py").read_text().replace("torch.randn(5,", "torch.randn(1,")
    (tmp_path / "cube.py").write_text(script)
    assert [one.code for one in explained(tmp_path / "cube.py").findings] == []


SHRINK = '''"""A shrinkage by hand: with a threshold that is learned."""

import torch


def into(gradient, sign, out):
    out.copy_(-(gradient * sign).sum(0))


class Shrink(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, threshold):
        kept = x.abs() > threshold
        ctx.save_for_backward(x.sign(), kept)
        return torch.where(kept, x - x.sign() * threshold, 0.0)

    @staticmethod
    def backward(ctx, gradient):
        sign, kept = ctx.saved_tensors
        direct = gradient * kept
        lowered = -(sign * kept).sum(0)
        return direct, lowered


x, threshold = torch.randn(5, 3, requires_grad=True), torch.full((3,), 0.2, requires_grad=True)
(Shrink.apply(x, threshold) * 2).sum().backward()
'''
FOR_ONE_INPUT_SILENT = {
    "it is used": ("-(sign", "-(gradient * sign"),
    "it is used in place": ("        return direct", "        lowered.mul_(gradient.sum(0))\n        return direct"),
    "it chooses": (
        "        return direct",
        "        if gradient.sum() > 1:\n            lowered = -lowered\n        return direct",
    ),
    "it stops": ("return direct, lowered", "return direct, torch.zeros(3)"),
    "a function of the program's own writes it": (
        "lowered = -(sign * kept).sum(0)",
        "lowered = torch.empty(3)\n        done = into(gradient, sign, lowered)",
    ),
    "it goes through a graph of its own": (
        "lowered = -(sign * kept).sum(0)",
        "again = torch.zeros(3, requires_grad=True)\n        with torch.enable_grad():\n"
        "            out = -(sign * kept * again)\n        out.backward(gradient)\n        lowered = again.grad",
    ),
    "it hands a loss by and asks for it": (
        "return torch.where(kept, x - x.sign() * threshold, 0.0)",
        "ctx.size = abs(max(threshold.sum(), x.sum()))\n        return x.clone()",
    ),
    "it only hands a loss by": ("return torch.where(kept, x - x.sign() * threshold, 0.0)", "return x.clone()"),
}


def test_the_line_of_one_gradient_of_two(explained, tmp_path):
    script = tmp_path / "shrinks.py"
    script.write_text(SHRINK)
    (found,) = explained(script).findings
    assert (found.code, found.site.line) == ("GS418", 21)
    assert "for `threshold`" in found.message


@pytest.mark.parametrize("edit", FOR_ONE_INPUT_SILENT.values(), ids=FOR_ONE_INPUT_SILENT)
def test_nothing_is_lost_for_one_input(explained, tmp_path, edit):
    script = tmp_path / "shrinks.py"
    script.write_text(SHRINK.replace("kept = x.abs() > threshold", "kept = x.abs() > 0.2").replace(*edit))
    assert [one.code for one in explained(script).findings if one.code == "GS418"] == []
