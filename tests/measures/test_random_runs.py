"""Random programs keep a log of what they saw; the tables say the same: hooks, their order, what each did."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

import gradscope
from gradscope.measures.hooks import fired_table, silent
from gradscope.model.hook import Effect
from gradscope.view.ordered import ordered
from tests.engine.programs import OPERATIONS, random_tensors
from tests.measures.test_hooks import Log, names
from tests.probes.against import recording


class Program:
    """A random graph with hooks that look, change, remove others, register others and raise."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        torch.manual_seed(seed)
        self.pool = random_tensors(self.choose, OPERATIONS, 12)
        self.log: Log = []
        self.effects: dict[str, Effect] = {}
        self.handles: list[Any] = []
        for _ in range(14):
            self.register(self.choose.choice(["look", "look", "double", "edit", "remove", "late", "raise"]))

    def register(self, does: str) -> None:
        name = f"{len(self.handles)} {does}"
        tensor = self.choose.choice(self.pool)
        kinds = ["tensor"] + (["leaf"] if tensor.is_leaf else ["pre", "post"])
        kind = self.choose.choice(kinds)
        if kind != "tensor" and does in ("double", "edit"):
            does = "look"
        hook = self.hook(name, getattr(self, does if does != "raise" else "fail"))
        if kind == "leaf":
            self.handles.append(tensor.register_post_accumulate_grad_hook(hook))
        elif kind == "pre":
            self.handles.append(tensor.grad_fn.register_prehook(hook))
        elif kind == "post":
            self.handles.append(tensor.grad_fn.register_hook(hook))
        else:
            self.handles.append(tensor.register_hook(hook))

    def hook(self, name: str, act: Callable[[Any], tuple[Effect, Any]]) -> Callable[..., Any]:
        def run(*gradients: Any) -> Any:
            self.log.append(name)
            self.effects[name] = Effect.RAISED
            self.effects[name], answer = act(gradients[0])
            return answer

        run.__qualname__ = name
        return run

    def look(self, gradient: Any) -> tuple[Effect, Any]:
        return Effect.LEFT_ALONE, None

    def double(self, gradient: Any) -> tuple[Effect, Any]:
        return Effect.REPLACED, gradient * 2

    def edit(self, gradient: Any) -> tuple[Effect, Any]:
        return Effect.REPLACED, gradient.clone().mul_(2)

    def remove(self, gradient: Any) -> tuple[Effect, Any]:
        self.choose.choice(self.handles).remove()
        return Effect.LEFT_ALONE, None

    def late(self, gradient: Any) -> tuple[Effect, Any]:
        self.register(self.choose.choice(["look", "double", "remove"]))
        return Effect.LEFT_ALONE, None

    def fail(self, gradient: Any) -> tuple[Effect, Any]:
        if self.choose.random() < 0.4:
            raise ValueError("on purpose")
        return Effect.LEFT_ALONE, None

    def run(self) -> None:
        outputs = [tensor.sum() for tensor in self.choose.sample(self.pool[4:], 2)]
        with suppress(ValueError):
            torch.autograd.backward(outputs, inputs=self.choose.choice([None, self.pool[:2]]))


@pytest.mark.parametrize("seed", range(60))
def test_the_table_of_hooks_is_the_programs_own_log(seed: int, tmp_path: Path) -> None:
    with recording(tmp_path, ["nodes", "ops", "full"][seed % 3]) as path:
        program = Program(seed)
        program.run()
    with gradscope.load(path) as opened:
        graph, there = ordered(opened.graph()), opened.hooks_at(0)
    assert names(graph) == program.log
    assert {firing.hook.name: firing.effect for firing in graph.firings} == program.effects
    assert "no" not in {row[-1] for row in fired_table(graph).rows}
    quiet = {hook.name for hook, _, _ in silent(graph, there)}
    assert quiet == {hook.name for hook in there} - set(program.log)
    assert (graph.backward.stopped is None) == (graph.backward.exception is None)
