"""A name is carried by a loop when a round may read it before it sets it."""

import ast
from textwrap import dedent

import pytest

from gradscope.explain.evidence.rounds import is_carried_by

CARRIED = {
    "read, then set": "for x in data:\n    y = f(x, state)\n    state = y",
    "in one statement": "for x in data:\n    y, state = f(x, state)",
    "added to": "for x in data:\n    state += x",
    "set under a condition": "for x in data:\n    if x:\n        state = 0\n    y = f(state)\n    state = y",
    "set in a loop that may not run": "for x in data:\n    for _ in x:\n        state = 0\n    state = f(state)",
    "set by some handlers": "for x in data:\n    try:\n        state = 0\n    except E:\n        x\n    f(state)",
    "read in one branch": "for x in data:\n    if x:\n        state = 0\n    else:\n        state = f(state)",
    "read by the condition": "while state is not None:\n    state = f(1)",
    "read by the condition of a branch": "for x in data:\n    if state:\n        state = 0",
}
NOT = {
    "set, then read": "for x in data:\n    state = 0\n    y = f(state)",
    "only set": "for x in data:\n    state = f(x)",
    "only read": "for x in data:\n    y = f(x)",
    "set in both branches": "for x in data:\n    if x:\n        state = 0\n    else:\n        state = 1\n    y = state",
    "set within a block": "for x in data:\n    with lock:\n        state = 0\n    y = f(state)",
    "the loop's own": "for state in data:\n    y = f(state)",
}


@pytest.mark.parametrize("text", CARRIED.values(), ids=CARRIED)
def test_what_is_read_before_it_is_set(text):
    assert is_carried_by(ast.parse(dedent(text)).body[0], "state")


@pytest.mark.parametrize("text", NOT.values(), ids=NOT)
def test_what_each_round_sets_or_leaves(text):
    assert not is_carried_by(ast.parse(dedent(text)).body[0], "state")
