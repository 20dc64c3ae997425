"""What a breakpoint's text names."""

import pytest

from gradscope.debugger.breakpoints import Breakpoint
from tests import by_hand

ACCUMULATE = by_hand.small().nodes[5]  # linear.weight's, first used at train.py:20


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "AccumulateGrad",
        "torch::autograd::AccumulateGrad",
        "Accumulate*",
        "linear.weight",
        "*.weight",
        "train.py:20",
        "project/train.py:20",
        "/project/train.py:20",
    ],
)
def test_names_the_node(text):
    assert Breakpoint(text).matches(ACCUMULATE)


@pytest.mark.parametrize(
    "text", ["6", "Accumulate", "train.py:21", "rain.py:20", "linear.bias", "train.py", ":20", "nan"]
)
def test_names_another(text):
    assert not Breakpoint(text).matches(ACCUMULATE)


def test_a_number_at_the_end_of_a_name_may_be_left_out():
    assert Breakpoint("AddmmBackward").matches(by_hand.small().nodes[2])


def test_nan_asks_for_values():
    assert Breakpoint("NaN").wants_values
    assert not Breakpoint("NanToNumBackward0").wants_values
