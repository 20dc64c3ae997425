"""Where the program fails because a .grad is None, the tensors in front of it are seen, and nothing of it is run."""

import pytest

from gradscope import load

HEAD = """
import torch
from torch import nn
class Lazy:
    @property
    def weight(self):
        print("asked")
        return torch.ones(2)
class Box:
    def __init__(self, **names):
        self.__dict__.update(names)
leaf = torch.ones(2, requires_grad=True)
result = leaf * 2
plain = torch.ones(2)
model = nn.Sequential(nn.Linear(2, 2))
"""


@pytest.fixture
def seen(side_by_side, tmp_path):
    """What is recorded of a program that ends with some lines: name, leaf, requires_grad; and what it printed."""

    def run(*lines):
        script = tmp_path / "train.py"
        script.write_text(HEAD + "\n".join(lines) + "\n")
        done, path = side_by_side.traced(tmp_path, script)
        with load(path) as recorded:
            found = recorded.missing_grads()
            return [(one.name, one.leaf, one.requires_grad) for one in found], done.stdout

    return run


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("leaf.grad + 1", ("leaf", True, True)),
        ("result.grad.norm()", ("result", False, True)),
        ("plain.grad * 2", ("plain", True, False)),
        ("model[0].weight.grad.norm()", ("0.weight", True, True)),
        ("box = Box(inner=leaf)\nbox.inner.grad + 1", ("box.inner", True, True)),
        ("pair = [leaf, result]\npair[1].grad + 1", ("pair[1]", False, True)),
        ("found = {'w': leaf}\nfound['w'].grad + 1", ("found['w']", True, True)),
        ("gradient = result.grad\ngradient.norm()", ("result", False, True)),
        ("several = [leaf]\ntorch.stack([one.grad for one in several])", ("one", True, True)),
        ("torch.stack([one.grad for one in model[0].parameters()][:1])", ("0.weight", True, True)),
    ],
)
def test_what_stands_in_front_of_it(seen, line, expected):
    assert seen("model(plain)", line)[0][:1] == [expected]


def test_a_property_is_not_run(seen):
    found, printed = seen("lazy = Lazy()", "None + 1 if plain is None else lazy.weight.grad + leaf.grad")
    assert found == [("leaf", True, True)]
    assert printed.count("asked") == 1


def test_other_exceptions_are_left_alone(seen):
    assert seen("None if leaf.grad is None else 1", "raise ValueError('None')")[0] == []
