"""Every kind of hook alone and every two together: the timeline is the order in which the hooks themselves saw it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd.graph import register_multi_grad_hook

import gradscope
from gradscope.measures.hooks import RETAIN, fired_table, silent, timeline
from gradscope.model.graph import Graph
from gradscope.model.hook import Hook
from gradscope.store.reader import Recording
from gradscope.view.ordered import ordered
from tests.probes.against import recording

pytestmark = pytest.mark.filterwarnings("ignore:Using backward.. with create_graph")


@dataclass
class Program:
    """A leaf, a module, an inner tensor and a result; `log` is what the hooks note when they run."""

    names: tuple[str, ...]
    log: list[str] = field(default_factory=list)
    kept: bool = False

    def __post_init__(self) -> None:
        self.layer = nn.Linear(3, 3)
        self.x = torch.ones(2, 3, requires_grad=True)

    def forward(self, late: bool) -> None:
        """With `late`, the inner tensor is edited in place after its hooks were registered."""
        for name in self.names:
            if name in ON_THE_MODULE:
                ON_THE_MODULE[name](self)
        self.hidden = self.layer(self.x * 1).clone()  # what a module with hooks returns may not be edited in place
        for name in self.names:
            if name in KINDS:
                KINDS[name](self)
        if late:
            self.hidden.mul_(2)
        self.result = self.hidden.tanh() * self.x

    def hook(self, name: str) -> Callable[..., None]:
        def note(*gradients: Any) -> None:
            if self.hidden.retains_grad and not self.kept and self.hidden.grad is not None:
                self.kept = True
                self.log.append(RETAIN)
            self.log.append(name)

        note.__qualname__ = name
        return note


def retain(program: Program) -> None:
    """Its moment shows in what the hooks after it see; without one, in nothing."""
    program.hidden.retain_grad()


KINDS: dict[str, Callable[[Program], Any]] = {
    "tensor": lambda one: one.hidden.register_hook(one.hook("tensor")),
    "leaf": lambda one: one.layer.weight.register_hook(one.hook("leaf")),
    "multi": lambda one: register_multi_grad_hook([one.hidden, one.x], one.hook("multi"), mode="any"),
    "retain_grad": retain,
    "node_pre": lambda one: one.hidden.grad_fn.register_prehook(one.hook("node_pre")),
    "node_post": lambda one: one.hidden.grad_fn.register_hook(one.hook("node_post")),
    "post_accumulate": lambda one: one.layer.weight.register_post_accumulate_grad_hook(one.hook("post_accumulate")),
    "accumulator": lambda one: accumulator(one).register_hook(one.hook("accumulator")),
}
ON_THE_MODULE: dict[str, Callable[[Program], Any]] = {
    "module_pre": lambda one: one.layer.register_full_backward_pre_hook(one.hook("module_pre")),
    "module_post": lambda one: one.layer.register_full_backward_hook(one.hook("module_post")),
}
ALL = (*ON_THE_MODULE, *KINDS)
MIXTURES = [names for count in (1, 2) for names in itertools.permutations(ALL, count)] + [ALL]


def accumulator(program: Program) -> Any:
    return torch.autograd.graph.get_gradient_edge(program.layer.weight).node


def backward(program: Program) -> None:
    program.result.sum().backward()


def keeping_the_graph(program: Program) -> None:
    program.result.sum().backward(retain_graph=True)


def differentiably(program: Program) -> None:
    program.result.sum().backward(create_graph=True)


def into_the_leaf(program: Program) -> None:
    program.result.sum().backward(inputs=[program.x])


def captured(program: Program) -> None:
    torch.autograd.grad(program.result.sum(), [program.hidden])


def captured_on_the_way(program: Program) -> None:
    torch.autograd.grad(program.result.sum(), [program.hidden, program.x])


def programs(run: Callable[[Program], None], late: bool) -> Iterator[Program]:
    for names in MIXTURES:
        program = Program(names)
        program.forward(late)
        run(program)
        yield program


def seen(graph: Graph) -> list[str]:
    return [event.firing.hook.name for event in timeline(graph) if event.firing]


def registered_here(opened: Recording) -> Iterator[tuple[Graph, list[Hook]]]:
    """Each backward with the hooks that its own program registered: a multi-grad hook is there for each tensor."""
    hooks = list(opened.hooks())
    for names, call in zip(MIXTURES, opened.backwards(), strict=True):
        count = len(names) + ("multi" in names)
        yield ordered(opened.graph(call.number)), hooks[:count]
        del hooks[:count]


@pytest.mark.parametrize("late", [False, True], ids=["", "edited"])
@pytest.mark.parametrize(
    "run", [backward, keeping_the_graph, differentiably, into_the_leaf, captured, captured_on_the_way]
)
def test_in_the_order_in_which_they_saw_it(run: Callable[[Program], None], late: bool, tmp_path: Path) -> None:
    with recording(tmp_path, "nodes") as path:
        ran = [(one.log, one.kept) for one in programs(run, late)]
    with gradscope.load(path) as opened:
        calls = list(registered_here(opened))
    for names, (log, told), (graph, hooks) in zip(MIXTURES, ran, calls, strict=True):
        timed = [name for name in seen(graph) if told or name != RETAIN]
        assert timed == log, names
        assert "no" not in {row[-1] for row in fired_table(graph).rows}
        quiet = {hook.name for hook, _, _ in silent(graph, hooks)}
        assert quiet == {hook.name for hook in hooks} - set(seen(graph)), names
