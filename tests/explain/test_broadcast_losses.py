"""torch's own losses expand a column and a row to a square before they compare: that is told as a difference is."""

import pytest

COMPARES = '''"""A column of predictions, and targets as {shape}."""

import torch
from torch.nn import functional as F

net = torch.nn.Linear(3, 1)
for _ in range(4):
    prediction = net(torch.randn(8, 3))
    F.{loss}(prediction, torch.randn({shape})).backward()
'''
ROW, COLUMN = "8", "8, 1"


@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize(("shape", "codes"), [(ROW, ["GS808"]), (COLUMN, [])])
def test_a_column_against_a_row(explained, tmp_path, loss, shape, codes):
    script = tmp_path / "compares.py"
    script.write_text(COMPARES.format(loss=loss, shape=shape))
    assert [one.code for one in explained(script).findings if one.code == "GS808"] == codes


WEIGHED = '''"""Logarithms of probabilities in a row, weighed with a column of errors."""

import torch

net = torch.nn.Linear(3, 5)
for _ in range(4):
    errors, more = torch.randn(8, 1), torch.randn(8, 1, requires_grad=True)
    chosen = net(torch.randn(8, 3) * 2).log_softmax(1)[:, 0]
    weighed = -(chosen * (errors * 1.5))
    (weighed + more).mean().backward()
'''
MEANT = {
    "each pair is squared": ("(weighed + more).mean", "(weighed + more).square().mean"),
    "some are left out": ("(weighed + more).mean", "torch.relu(weighed + more).mean"),
    "the largest alone counts": ("(weighed + more).mean()", "(weighed + more).amax(1).sum()"),
    "the table is read as well": ("(weighed + more)", "(weighed.tril() + weighed + more)"),
}


def weighed(explained, tmp_path, *edit):
    script = tmp_path / "weighed.py"
    script.write_text(WEIGHED.replace(*edit) if edit else WEIGHED)
    return [(one.code, one.site.line) for one in explained(script).findings if one.code == "GS808"]


def test_a_product_that_is_a_term_of_what_is_summed_up(explained, tmp_path):
    assert weighed(explained, tmp_path) == [("GS808", 9)]


@pytest.mark.parametrize("edit", MEANT.values(), ids=MEANT)
def test_products_of_all_pairs_that_are_meant(explained, tmp_path, edit):
    assert weighed(explained, tmp_path, *edit) == []


TAKES = '''"""A critic's column that one function makes a row of; another one takes it as it is."""

import torch

net = torch.nn.Linear(3, 1)


def fits(value, paid):
    return ({value} - paid).square().mean()


def gains(chance, value, paid):
    with torch.no_grad():
        better = paid - value
    return (chance.log() * better).mean()


def both(data, paid):
    value, chance = net(data), net(data).sigmoid().view(-1)
    return fits(value, paid) - gains(chance, value, paid)


for _ in range(4):
    both(torch.randn(8, 3), torch.randn(8)).backward()
'''


@pytest.mark.parametrize(("value", "lines"), [("value.squeeze(1)", [14]), ("value.mean()", [20])])
def test_the_function_is_named_where_others_shape_what_they_take(explained, tmp_path, value, lines):
    script = tmp_path / "takes.py"
    script.write_text(TAKES.format(value=value))
    assert [one.site.line for one in explained(script).findings if one.code == "GS808"] == lines


BY_HAND = '''"""A loss by hand, of what a network makes in a column and of a row."""

import torch

net = torch.nn.Linear(3, 1)


def criterion(made, wanted):
    apart = made - wanted
    return ({told}).mean()


for _ in range(4):
    criterion(net(torch.randn(8, 3)), torch.randn(8)).backward()
'''
TWO_SIDED = {
    "log-cosh": "apart + torch.nn.functional.softplus(-2 * apart)",
    "of a function": "apart.cosh().log()",
    "linex": "apart.exp() - apart - 1",
    "with its tangent": "apart * apart.tanh()",
    "Cauchy's": "torch.log(1 + apart**2)",
    "with a tolerance": "(apart.abs() - 0.1).relu()",
    "of two exponentials": "torch.logaddexp(apart, -apart)",
}
MEANT = {"a limit": "apart.relu()", "a kernel": "1 - torch.exp(-(apart**2))", "a soft count": "apart.sigmoid()"}


@pytest.mark.parametrize("told", TWO_SIDED.values(), ids=TWO_SIDED)
def test_a_difference_that_counts_on_both_sides_is_told(explained, tmp_path, told):
    script = tmp_path / "by_hand.py"
    script.write_text(BY_HAND.format(told=told))
    assert [one.site.line for one in explained(script).findings if one.code == "GS808"] == [14]


@pytest.mark.parametrize("told", MEANT.values(), ids=MEANT)
def test_one_side_alone_and_a_kernel_may_be_meant_for_pairs(explained, tmp_path, told):
    script = tmp_path / "meant.py"
    script.write_text(BY_HAND.format(told=told))
    assert not [one for one in explained(script).findings if one.code == "GS808"]
