"""Every push of a level is recorded with its call, and so is what escapes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import torch
from torch._dynamo.utils import counters
from torch.func import grad, jacrev, vmap

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


class Twice(torch.autograd.Function):
    """torch.func can map it."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):  # type: ignore[no-untyped-def]
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        return gradient * 2


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


def test_what_torch_itself_still_holds_has_not_escaped(tmp_path: Path) -> None:
    """The jacobian of a custom Function leaves wrappers in functions of torch's, until garbage is collected."""
    with recording(tmp_path) as path:
        jacrev(lambda x: Twice.apply(x * 2))(X)
        vmap(Twice.apply)(X)
    assert seen(path)[1] == ()


def shown(path: Path) -> list[tuple[object, ...]]:
    """The rows of the table: name, level, batch size, calls, nodes, operators."""
    with gradscope.load(path) as opened:
        graphs = [opened.graph(call.number) for call in opened.backwards()]
        table = levels(opened.transforms(), inside(graphs, opened.blocks()))
    return [(row[0], row[1], row[3], *row[5:8]) for row in table.rows]


def test_levels_that_a_generated_vmap_rule_pushes_are_no_transforms_of_the_users(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        vmap(grad(lambda x: Twice.apply(x).sum()))(X)
    with gradscope.load(path) as opened:
        assert len(opened.transforms()) > len(shown(path))
    assert [row[:4] for row in shown(path)] == [("vmap", 1, 4, 1), ("  grad", 2, None, 1)]


def test_what_ran_under_a_line_is_counted_once_whatever_called_it_and_with_which_batch(tmp_path: Path) -> None:
    def mapped(x: torch.Tensor) -> torch.Tensor:
        return vmap(torch.sin)(x)

    with recording(tmp_path) as path:
        mapped(X)
        mapped(X)
        mapped(X[:2])
    assert shown(path) == [("vmap", 1, 4, 2, 0, 3), ("vmap", 1, 2, 1, None, None)]


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
