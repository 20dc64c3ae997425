"""What is said of gradients that are not finite: no norm of nothing."""

from __future__ import annotations

import pytest
import torch

from gradscope.debugger.tensors import words
from gradscope.model.statistics import GradientStatistics
from gradscope.probes.tensors.statistics import statistics_of
from gradscope.render.replay_text import statistics

INF, NAN = float("inf"), float("nan")
SAID = {
    "no finite value, 2 Inf": [INF, -INF],
    "no finite value, 1 NaN, 1 Inf": [NAN, INF],
    "norm 5, max 4, 0% zero among finite values, 1 Inf": [3.0, -4.0, INF],
    "norm 0, max 0, 50% zero among finite values, 1 NaN": [0.0, NAN],
    "norm 0, max 0, 100% zero": [0.0, 0.0],
}


@pytest.mark.parametrize(("said", "values"), SAID.items(), ids=list(SAID))
def test_norms_are_those_of_finite_values_and_are_said_to_be(said: str, values: list[float]) -> None:
    found = statistics_of(torch.tensor(values))
    assert found is not None
    assert statistics(GradientStatistics(0, "in", 0, *found)) == said
    assert ("no finite value" in words(torch.tensor(values))[0]) == said.startswith("no finite")


def test_a_box_says_the_norm_of_finite_values_only() -> None:
    def of(values: list[float]) -> str:
        found = statistics_of(torch.tensor(values))
        assert found is not None
        return GradientStatistics(0, "in", 0, *found).norm_words

    assert of([3.0, -4.0]) == "gradient's norm 5"
    assert of([3.0, -4.0, INF]) == "gradient's norm 5 among finite values, 1 Inf"
    assert of([NAN, INF]) == "gradient has no finite value, 1 NaN, 1 Inf"


def test_looking_leaves_torchs_switches_as_they_were() -> None:
    before = str(torch._C._dispatch_tls_local_exclude_set())
    words(torch.ones(2))
    assert str(torch._C._dispatch_tls_local_exclude_set()) == before
