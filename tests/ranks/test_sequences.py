"""What differs between two sequences, held against the plain textbook table."""

import random

import pytest

from gradscope.ranks.comparing.sequences import MOST_EDITS, stretches


def longest(first, second):
    """The length of the longest common subsequence, by its definition."""
    row = [0] * (len(second) + 1)
    for one in first:
        above = row
        row = [0]
        for at, other in enumerate(second):
            row.append(above[at] + 1 if one == other else max(above[at + 1], row[at]))
    return row[-1]


def rebuilt(first, second):
    """The second sequence, from the first and what is said to differ."""
    out, at = [], 0
    for start, end, from_, to in stretches(first, second):
        out += [*first[at:start], *second[from_:to]]
        at = end
    return [*out, *first[at:]]


@pytest.mark.parametrize("seed", range(40))
def test_random_sequences_part_as_little_as_possible(seed):
    chosen = random.Random(seed)
    first = [chosen.randrange(4) for _ in range(chosen.randrange(30))]
    second = [chosen.randrange(4) for _ in range(chosen.randrange(30))]
    assert rebuilt(first, second) == second
    kept = len(first) - sum(end - start for start, end, _, _ in stretches(first, second))
    assert kept == longest(first, second)


def test_equal_sequences_have_no_difference():
    assert stretches([1, 2, 3], [1, 2, 3]) == []


def test_a_trip_more_of_a_loop_is_one_insertion():
    assert stretches([9, 1, 2, 3, 1, 2, 3, 8], [9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8]) == [(7, 7, 7, 10)]


def test_what_differs_in_too_much_is_one_stretch():
    first, second = list(range(MOST_EDITS)), list(range(-1, -MOST_EDITS, -1))
    assert stretches([7, *first, 7], [7, *second, 7]) == [(1, MOST_EDITS + 1, 1, MOST_EDITS)]
