"""Pictures open as deep as fits."""

from __future__ import annotations

import pytest

from gradscope.graphs.depth import fitting_depth
from gradscope.graphs.fold import fold
from gradscope.graphs.tree import build
from gradscope.view.draw import draw
from tests import by_hand


@pytest.mark.parametrize(("limit", "depth"), [(1, 1), (5, 1), (10, 2), (30, 3), (150, 5), (10**6, 5)])
def test_depth_grows_with_the_limit(limit: int, depth: int) -> None:
    assert fitting_depth(fold(build(by_hand.transformer())), limit) == depth


@pytest.mark.parametrize("layers", [1, 2, 3, 24, 96])
def test_a_transformer_fits_whatever_its_depth(layers: int) -> None:
    assert 5 <= len(draw(by_hand.scene(by_hand.transformer(layers))).boxes) <= 150


def test_empty_graph_has_a_depth() -> None:
    assert fitting_depth(build(by_hand.measured([], [])), 150) == 1
