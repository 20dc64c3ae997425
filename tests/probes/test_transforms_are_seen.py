"""Every push of a level is recorded with its call, and so is what escapes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import torch
from torch._dynamo.utils import counters
from torch.func import grad, vmap

import gradscope
from gradscope.measures.levels import inside, levels
from gradscope.model.transform import Escaped, Transform
from tests.probes.against import recording

X = torch.ones(4, 3)


def seen(path: Path) -> tuple[tuple[Transform, ...], tuple[Escaped, ...]]:
    with gradscope.load(path) as opened:
        return opened.transforms(), opened.escaped()


def test_a_vmap_has_its_batch_size_and_randomness(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        vmap(torch.sin, randomness="same")(X)
    ((one,), _) = seen(path)
    assert (one.kind, one.level, one.batch_size, one.randomness) == ("Vmap", 1, 4, "same")
    assert one.site is not None
    assert one.site.source == 'vmap(torch.sin, randomness="same")(X)'


def test_an_inner_transform_knows_the_outer_one(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        vmap(grad(lambda x: x.sin().sum()))(X)
    ((outer, inner), _) = seen(path)
    assert (outer.kind, inner.kind, inner.outer, inner.level) == ("Vmap", "Grad", outer.number, 2)


def test_equal_calls_are_stored_once_and_counted(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        for _ in range(5):
            grad(lambda x: x.sin().sum())(X)
    ((one,), _) = seen(path)
    assert one.calls == 5


def test_a_transform_that_raises_is_closed(tmp_path: Path) -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        raise KeyError

    with recording(tmp_path) as path:
        for _ in range(2):
            with contextlib.suppress(KeyError):
                vmap(fails)(X)
    assert [(one.outer, one.calls) for one in seen(path)[0]] == [(None, 2)]


class Model:
    """Something to keep tensors on."""

    cache: torch.Tensor


def test_a_tensor_that_escapes_is_named_with_the_line_that_made_it(tmp_path: Path) -> None:
    model = Model()

    def f(x: torch.Tensor) -> torch.Tensor:
        model.cache = x.exp()
        return model.cache.sum()

    with recording(tmp_path) as path:
        grad(f)(X)
    (_, (one,)) = seen(path)
    assert one.name == "cache"
    assert one.site is not None
    assert one.site.source == "model.cache = x.exp()"


def test_what_a_transform_returns_has_not_escaped(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        kept = [grad(lambda x: x.exp().sum())(X), vmap(torch.sin)(X)]
    assert len(kept) == 2
    assert seen(path)[1] == ()


def test_compiling_a_transform_is_not_disturbed(tmp_path: Path) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return vmap(grad(lambda y: y.sin().sum()))(x)

    def compiled() -> tuple[torch.Tensor, dict[str, int]]:
        torch._dynamo.reset()
        counters.clear()
        answer = torch.compile(f, backend="eager", fullgraph=True)(X)
        return answer, dict(counters["frames"])

    plain, frames = compiled()
    with recording(tmp_path):
        traced, frames_too = compiled()
    assert torch.equal(plain, traced)
    assert frames == frames_too


def test_nodes_and_operators_are_counted_under_their_transform(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        vmap(grad(lambda x: x.sin().sum()))(X)
    with gradscope.load(path) as opened:
        graphs = [opened.graph(numbers[0]) for numbers in opened.by_graph()]
        table = levels(opened.transforms(), inside(graphs, opened.blocks()))
    rows = [dict(zip(table.names, row, strict=True)) for row in table.rows]
    assert [row["transform"] for row in rows] == ["vmap", "  grad"]
    assert rows[1]["nodes"] == sum(len(graph.nodes) for graph in graphs)
    assert rows[1]["operators"]
