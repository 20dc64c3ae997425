"""What hooks do to hooks: removed, late, raising and old-style ones are told as the hooks themselves noted it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import gradscope
from gradscope.measures.hooks import NotFired, fired_table, silent
from gradscope.model.hook import Effect
from gradscope.view.ordered import ordered
from tests.measures.test_hooks import Log, names, noting, read, reasons
from tests.probes.against import recording

pytestmark = pytest.mark.parametrize("detail", ["nodes", "full"])


def removed(log: Log) -> None:
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    y = x * w
    handles = [
        y.register_hook(noting(log, "gone")),
        w.register_hook(noting(log, "gone too")),
        w.register_post_accumulate_grad_hook(noting(log, "gone as well")),
    ]
    y.register_hook(noting(log, "stays"))
    z = y.exp()
    z.register_hook(noting(log, "remover", lambda gradient: [handle.remove() for handle in handles] and None))
    z.sum().backward()


def removed_by_a_neighbour(log: Log) -> None:
    """Torch has taken the tensor's hooks by then, and runs them all."""
    y = torch.ones(3, requires_grad=True).exp()
    handles = []
    y.register_hook(noting(log, "remover", lambda gradient: handles[0].remove()))
    handles.append(y.register_hook(noting(log, "removed")))
    y.sum().backward()


def late(log: Log) -> None:
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    y = x * w
    w.register_hook(noting(log, "early"))
    z = y.exp()

    def register(gradient: torch.Tensor) -> None:
        y.register_hook(noting(log, "late", lambda gradient: gradient * 2))
        y.register_hook(noting(log, "later"))
        x.register_hook(noting(log, "on a leaf"))
        w.register_hook(noting(log, "beside one"))
        w.register_post_accumulate_grad_hook(noting(log, "accumulated"))
        y.grad_fn.register_hook(noting(log, "on a node"))
        z.register_hook(noting(log, "too late"))

    z.register_hook(noting(log, "adder", register))
    z.sum().backward()


def late_by_a_function(log: Log) -> None:
    """No hook of ours runs between the registration and its turn."""
    y = torch.ones(3, requires_grad=True).exp()
    y.register_hook(noting(log, "first"))

    class Registers(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            y.register_hook(noting(log, "late"))
            return gradient

    Registers.apply(y).sum().backward()


def raising(log: Log) -> None:
    y = torch.ones(3, requires_grad=True).sin()
    z = y.exp()

    def boom(gradient: torch.Tensor) -> None:
        raise ValueError("boom")

    z.register_hook(noting(log, "before"))
    y.register_hook(noting(log, "boom", boom))
    y.register_hook(noting(log, "never"))
    with pytest.raises(ValueError, match="boom"):
        z.sum().backward()


def old_style(log: Log) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))
    model[1].register_backward_hook(noting(log, "old"))
    model[0].register_full_backward_hook(noting(log, "full"))
    shared = noting(log, "twice")
    model[2].register_full_backward_hook(shared)
    model[2].register_full_backward_hook(shared)
    model(torch.ones(2, 3, requires_grad=True)).sum().backward()


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook")
@pytest.mark.parametrize("program", [removed, removed_by_a_neighbour, late, late_by_a_function, raising, old_style])
def test_what_fired_is_what_the_hooks_noted(program: Callable[[Log], None], detail: str, tmp_path: Path) -> None:
    log: Log = []
    with recording(tmp_path, detail) as path:
        program(log)
    graph, registered = read(path)
    assert names(graph) == log
    assert "no" not in {row[-1] for row in fired_table(graph).rows}
    assert not {hook.name for hook, _, _ in silent(graph, registered)} & set(log)
    numbers = [firing.hook.number for firing in graph.firings]
    assert len(numbers) == len(set(numbers))


def test_one_that_raised_says_so_and_its_neighbour_why_it_did_not_run(detail: str, tmp_path: Path) -> None:
    with recording(tmp_path, detail) as path:
        raising([])
    graph, _ = read(path)
    assert [firing.effect for firing in graph.firings] == [Effect.LEFT_ALONE, Effect.RAISED]
    assert reasons(path) == {"never": NotFired.STOPPED}


def test_what_a_late_one_did_is_seen(detail: str, tmp_path: Path) -> None:
    with recording(tmp_path, detail) as path:
        late([])
    effects = {firing.hook.name: firing.effect for firing in read(path)[0].firings}
    assert effects["late"] is Effect.REPLACED
    assert effects["later"] is Effect.LEFT_ALONE


def test_what_nobody_saw_is_not_told(detail: str, tmp_path: Path) -> None:
    with recording(tmp_path, detail) as path:
        late_by_a_function([])
    effects = {firing.hook.name: firing.effect for firing in read(path)[0].firings}
    assert effects == {"first": Effect.LEFT_ALONE, "late": Effect.UNSEEN}


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook")
def test_an_old_style_hook_is_a_modules_and_hangs_on_its_node(detail: str, tmp_path: Path) -> None:
    with recording(tmp_path, detail) as path:
        old_style([])
    graph, registered = read(path)
    (old,) = [hook for hook in registered if hook.name == "old"]
    assert old.kind == "module_backward"
    assert [node.name for node in graph.nodes if old in node.hooks] == ["ReluBackward0"]


def test_a_table_holds_the_hooks_that_were_there_when_its_backward_began(detail: str, tmp_path: Path) -> None:
    with recording(tmp_path, detail) as path:
        x, unused = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        first = x.register_hook(noting([], "first"))
        elsewhere = unused.register_hook(noting([], "elsewhere"))
        (x * 2).sum().backward()
        first.remove()
        elsewhere.remove()
        second = x.register_hook(noting([], "second"))
        (x * 3).sum().backward()
        second.remove()
        (x * 4).sum().backward()
    with gradscope.load(path) as opened:
        there = [[hook.name for hook in opened.hooks_at(number)] for number in range(3)]
        hung = [[hook.name for node in opened.graph(number).nodes for hook in node.hooks] for number in range(3)]
        quiet = list(silent(ordered(opened.graph(2)), opened.hooks_at(2)))
    assert there == [["first", "elsewhere"], ["second"], []]
    assert hung == [["first"], ["second"], []]
    assert quiet == []


def test_what_a_hook_did_is_told_and_not_what_became_of_the_values(detail: str, tmp_path: Path) -> None:
    with recording(tmp_path, detail) as path:
        x = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([x], 0.1)
        x.register_hook(noting([], "clones", torch.clone))
        x.register_hook(noting([], "looks", lambda gradient: gradient.norm() and None))
        x.register_post_accumulate_grad_hook(noting([], "steps", lambda leaf: optimizer.step()))
        (x * 2).sum().backward()
    words = {firing.hook.name: firing.words for firing in read(path)[0].firings}
    assert words == {"clones": "gave another tensor", "looks": "left it alone", "steps": "edited the parameter"}
