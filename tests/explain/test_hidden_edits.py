"""A hidden edit is told of the backward that reads what it wrote, and of no other."""

import pytest

from tests.edited import edited

PROGRAM = '''"""Bounds of a tank: two rates, of which the second may be written again."""

import torch

torch.manual_seed(0)
gain = torch.rand(3, requires_grad=True)
level = torch.rand(4, 3, requires_grad=True)
held = torch.rand(4, 3)
inflow = held * gain
rise = level.exp() * gain
held.data.mul_(0.5)
torch.autograd.grad((inflow + rise).sum(), (gain, level))
'''
UNREAD = {"it asks for others": ("(gain, level)", "level"), "it starts elsewhere": ("(inflow + rise)", "rise")}

BOUNDED = '''"""Shares of a catch that are bounded before their logarithm is taken."""

import torch

torch.manual_seed(0)
weights = torch.rand(4, 3, requires_grad=True)
shares = weights * 0.9
shares.data.clamp_(0.3, 0.9)
shares.log().sum().backward()
'''


def told(explained, tmp_path, *edits, program=PROGRAM):
    script = tmp_path / "tank.py"
    script.write_text(edited(program, *edits))
    found = [one for one in explained(script).findings if one.code == "GS702"]
    return [(one.site.line, one.severity.value, one.confidence.value) for one in found]


def test_what_it_reads_is_told(explained, tmp_path):
    assert told(explained, tmp_path) == [(11, "error", "certain")]


@pytest.mark.parametrize("edit", UNREAD.values(), ids=UNREAD)
def test_a_node_that_does_not_run_reads_nothing(edit, explained, tmp_path):
    assert told(explained, tmp_path, edit) == []


def test_elements_beside_are_not_read(explained, tmp_path):
    rows = ("held * gain", "held[:2] * gain"), ("(inflow + rise)", "(inflow.sum() + rise.sum())")
    assert told(explained, tmp_path, *rows, ("held.data", "held.data[2:]")) == []
    assert told(explained, tmp_path, *rows, ("held.data", "held.data[1:]")) == [(11, "error", "certain")]


def test_a_node_that_gives_a_part_of_its_gradients_may_not_read_it(explained, tmp_path):
    written = ("held.data", "gain.data")
    assert told(explained, tmp_path, written) == [(11, "error", "certain")]
    assert told(explained, tmp_path, written, ("(gain, level)", "gain")) == [(11, "info", "likely")]


def test_bounds_that_let_the_gradient_pass_may_be_meant(explained, tmp_path):
    assert told(explained, tmp_path, program=BOUNDED) == [(8, "info", "likely")]
    assert told(explained, tmp_path, ("clamp_(0.3, 0.9)", "mul_(0.5)"), program=BOUNDED) == [(8, "warning", "likely")]
