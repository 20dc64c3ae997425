"""What a recording asks of the collector is counted: how much a program holds must not matter at each step."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch.func import grad, vmap

import gradscope
from gradscope.probes.core.young_objects import SearchesOfAll
from tests.probes.against import recording

ALL = None
X = torch.ones(3)


@contextmanager
def listings() -> Iterator[Counter[int | None]]:
    """Counts what is listed, by generation, and who is asked for by its holders."""
    counts: Counter[int | None] = Counter()
    listing, searching = gc.get_objects, gc.get_referrers

    def get_objects(generation: int | None = None) -> list[Any]:
        counts[generation] += 1
        return listing(generation=generation)

    def get_referrers(*things: Any) -> list[Any]:
        counts[ALL] += 1
        return searching(*things)

    with patch.object(gc, "get_objects", get_objects), patch.object(gc, "get_referrers", get_referrers):
        yield counts


def test_all_objects_are_listed_once_however_many_transforms_run(tmp_path: Path) -> None:
    gc.collect()
    with recording(tmp_path), listings() as counts:
        for _ in range(30):
            grad(lambda x: x.sin().sum())(X)
            vmap(torch.sin)(X)
    assert counts[ALL] <= 1


def test_a_graph_made_in_a_backward_is_found_among_the_young(tmp_path: Path) -> None:
    weight = torch.ones(3, requires_grad=True)
    gc.collect()
    with recording(tmp_path), listings() as counts:
        for _ in range(30):
            torch.autograd.grad(weight.exp().sum(), weight, create_graph=True)
    assert counts[ALL] == 0


def test_an_old_one_costs_a_share_of_what_is_made() -> None:
    searches = SearchesOfAll()
    with listings() as counts:
        assert searches.objects(1)
        assert [searches.objects(10) for _ in range(20)] == [[]] * 20
    assert counts[ALL] == 1


def test_with_the_collector_off_nothing_long_is_listed(tmp_path: Path) -> None:
    gc.collect()
    gc.disable()
    try:
        held = [[number] for number in range(30_000)]
        with recording(tmp_path), listings() as counts:
            for _ in range(30):
                grad(lambda x: x.exp().sum())(X)
        assert len(held) == 30_000
    finally:
        gc.enable()
    assert counts[0] == 0
    assert counts[ALL] <= 3


def test_what_escaped_from_a_long_transform_is_found_at_the_end(tmp_path: Path) -> None:
    kept: list[torch.Tensor] = []

    def long(x: torch.Tensor) -> torch.Tensor:
        kept.append(x.exp())
        gc.collect()  # nothing is young any more
        return x.sum()

    with recording(tmp_path) as path:
        grad(long)(X)
    with gradscope.load(path) as opened:
        (one,) = opened.escaped()
    assert one.site is not None
    assert one.site.source == "kept.append(x.exp())"


def test_what_escaped_before_the_recording_is_not_told(tmp_path: Path) -> None:
    kept: list[torch.Tensor] = []

    def long(x: torch.Tensor) -> torch.Tensor:
        gc.collect()
        return x.sum()

    vmap(lambda x: kept.append(x.exp()) or x)(X)
    with recording(tmp_path) as path:
        grad(long)(X)
    with gradscope.load(path) as opened:
        assert opened.escaped() == ()
