"""Names are learned when modules run, whatever a signal handler of the program raises in between."""

import contextlib
import itertools
from collections.abc import Iterator

import torch
from torch import nn

from gradscope.probes.core.qualified_names import QualifiedNames


class Struck(dict[str, list[object]]):
    """A table at whose first write a handler raises, before or after it was written."""

    def __init__(self, after: bool) -> None:
        super().__init__()
        self._after, self._strikes = after, itertools.count()

    def __setitem__(self, key: str, value: list[object]) -> None:
        strikes = next(self._strikes) == 0
        if self._after or not strikes:
            super().__setitem__(key, value)
        if strikes:
            raise TimeoutError


def struck() -> Iterator[QualifiedNames]:
    for after in (False, True):
        names = QualifiedNames()
        names._holders = Struck(after)
        yield names


def test_a_handler_that_strikes_while_names_are_learned_costs_at_most_that_call() -> None:
    for names in struck():
        model = nn.Linear(2, 2)
        with contextlib.suppress(TimeoutError):
            names.learn(model)
        names.learn(model)
        assert [names.leaf(one) for one in model.parameters()] == ["weight", "bias"]


def test_two_models_with_parameters_of_one_name_are_told_apart() -> None:
    names = QualifiedNames()
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    for model in (first, second):
        names.learn(model)
    assert names.leaf(second.weight) == "Linear#2.weight"
    del second
    assert names.leaf(first.weight) in ("weight", "Linear.weight")


def test_a_leaf_gets_its_name_when_its_module_has_it() -> None:
    names = QualifiedNames()
    model = nn.Sequential(nn.Linear(2, 2))
    names.learn(model)
    weight = nn.Parameter(torch.zeros(2, 2))
    assert names.leaf(weight) == "leaf"
    model[0].weight = weight
    assert "0.weight" in {names.leaf(weight) for _ in range(4)}
