"""Which of two ranks passed a branch by is told where both came past it once: in one call, or in one trip."""

import pytest

from gradscope.model.site import Site
from gradscope.ranks.source.passing import passed_by

PROGRAM = """
def gather(step):
    if step % 2:
        meet()

def train():
    for step in range(4):
        gather(step)
        look(step)
        meet()
        gather(step)
        meet()
"""
LOOKS, MEETS, GOES_ON = 9, 10, 12


class Texts:
    """A recording of one file."""

    def source(self, file):
        return PROGRAM


def stack(line, *inner):
    return (*inner, Site("train.py", line, "train"))


@pytest.mark.parametrize(("other", "told"), [(LOOKS, 3), (GOES_ON, None)])
def test_a_condition_that_another_may_not_have_come_to_is_not_told(other, told):
    ours = stack(8, Site("train.py", 4, "gather"))
    branch = passed_by(Texts(), ours, stack(other), before=stack(MEETS))
    assert (None if branch is None else branch.condition.line) == told
