from array import array

import pytest

from gradscope.model.rank import Pace
from gradscope.ranks.meeting.stragglers import LEAST, slowest


def pace(way, rest=0.001):
    return Pace(array("d", [way] * LEAST), LEAST * (way + rest))


def test_the_rank_with_the_longest_way_is_the_slowest():
    assert slowest({0: pace(0.002), 1: pace(0.009)}) == (1, pytest.approx(0.7))


def test_what_nobody_would_feel_is_no_difference():
    assert slowest({0: pace(0.0002, rest=0.0001), 1: pace(0.0009, rest=0.0001)}) == (None, 0.0)


def test_a_difference_in_a_few_steps_is_none():
    late = array("d", [0.001] * (LEAST // 2) + [0.02] * (LEAST // 2))
    assert slowest({0: pace(0.002), 1: Pace(late, 1.0)}) == (None, 0.0)
