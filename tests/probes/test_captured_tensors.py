"""What the forward of a custom Function reads of a torch.func transform without being given it is noted, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, jacrev, jvp, vjp

import gradscope
from gradscope.store.reader import load

held: Any = None
held_too: Any = None
X = torch.arange(3.0)


def function(read: Callable[..., torch.Tensor]) -> Any:
    """A Function that multiplies its first argument by what it reads from outside."""

    class Times(torch.autograd.Function):
        attribute: Any = None

        @staticmethod
        def forward(x: torch.Tensor, *others: Any) -> torch.Tensor:
            return x * read(*others)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            return gradient, *[None for _ in ctx.needs_input_grad[1:]]

    return Times


@pytest.fixture
def names(tmp_path: Path) -> Callable[..., list[str]]:
    """The names under which tensors are captured while something runs."""

    def run(program: Callable[[], object]) -> list[str]:
        with gradscope.record(tmp_path / "run.gscope"):
            program()
        with load(tmp_path / "run.gscope") as recorded:
            assert recorded.faults() == ()
            return [one.name for one in recorded.captured_tensors()]

    return run


def into_a_global(value: Any) -> None:
    global held
    held = value


def test_a_global(names: Callable[..., list[str]]) -> None:
    times = function(lambda: held)

    def loss(scale: torch.Tensor) -> torch.Tensor:
        into_a_global(scale)
        return times.apply(X).sum()

    assert names(lambda: grad(loss)(torch.ones(3))) == ["held"]


def test_a_variable_of_the_function_around(names: Callable[..., list[str]]) -> None:
    def loss(scale: torch.Tensor) -> torch.Tensor:
        doubled = scale * 2
        return function(lambda: doubled).apply(X).sum()

    assert names(lambda: jacrev(loss)(torch.ones(3))) == ["doubled"]


def test_an_attribute_in_an_item_in_an_argument(names: Callable[..., list[str]]) -> None:
    times = function(lambda options: options["layer"].scale)

    def loss(scale: torch.Tensor) -> torch.Tensor:
        return times.apply(X, {"layer": SimpleNamespace(scale=scale)}).sum()

    assert names(lambda: vjp(loss, torch.ones(3))) == ["others['layer'].scale"]


def test_a_parameter_that_functional_call_puts_in_place(names: Callable[..., list[str]]) -> None:
    layer = nn.Linear(3, 3)
    times = function(lambda: layer(X))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return times.apply(x).sum()

    model = Model()
    parameters = {name: one.detach() for name, one in model.named_parameters()}
    found = names(lambda: grad(lambda one: functional_call(model, one, (X,)))(parameters))
    assert sorted(found) == ["layer.bias", "layer.weight"]


def test_one_of_two_nested_transforms_differentiates_it(names: Callable[..., list[str]]) -> None:
    def outer(scale: torch.Tensor) -> torch.Tensor:
        times = function(lambda: scale)
        return grad(lambda x: times.apply(x).sum())(X).sum()

    assert names(lambda: grad(outer)(torch.ones(3))) == ["scale"]


def test_an_argument_is_not_captured(names: Callable[..., list[str]]) -> None:
    times = function(lambda scale: held * scale)

    def loss(scale: torch.Tensor) -> torch.Tensor:
        into_a_global(scale)
        return times.apply(X, scale).sum()

    assert names(lambda: grad(loss)(torch.ones(3))) == []


def test_the_same_memory_that_no_transform_holds_is_not_captured(names: Callable[..., list[str]]) -> None:
    scale = torch.ones(3)
    times = function(lambda: scale)
    assert names(lambda: grad(lambda one: (times.apply(X) * one).sum())(scale)) == []


@pytest.mark.parametrize(
    "read", [lambda: held.detach() + 1, lambda: held > 0, lambda: held.shape[0], lambda: torch.zeros_like(X)]
)
def test_what_loses_no_gradient_is_not_noted(names: Callable[..., list[str]], read: Callable[[], Any]) -> None:
    times = function(read)

    def loss(scale: torch.Tensor) -> torch.Tensor:
        into_a_global(scale)
        return times.apply(X).sum()

    assert names(lambda: grad(loss)(torch.ones(3))) == []


def test_what_a_property_would_answer_is_not_asked(names: Callable[..., list[str]]) -> None:
    class Asked:
        scale = property(lambda self: pytest.fail("the program's property ran"))

    asked = Asked()
    times = function(lambda: asked.scale if X.sum() < 0 else X)
    assert names(lambda: grad(lambda x: times.apply(x).sum())(torch.ones(3))) == []


def test_without_a_transform_nothing_is_looked_for(names: Callable[..., list[str]]) -> None:
    scale = torch.ones(3, requires_grad=True)
    assert names(lambda: function(lambda: scale).apply(X.clone().requires_grad_()).sum().backward()) == []


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # the first use of forward mode warns
@pytest.mark.parametrize("twice", [False, True], ids=["jvp", "jvp of jvp"])
def test_what_only_jvp_differentiates(names: Callable[..., list[str]], twice: bool) -> None:
    times = function(lambda: held * held_too * 2)
    times.jvp = staticmethod(lambda ctx, tangent: tangent)

    def loss(scale: torch.Tensor) -> torch.Tensor:
        into_a_global(scale * 2)
        globals()["held_too"] = (scale * 3).detach()  # has no tangent
        return times.apply(X).sum()

    def once(scale: torch.Tensor) -> torch.Tensor:
        return jvp(loss, (scale,), (torch.ones(3),))[1]

    program = (lambda: jvp(once, (torch.ones(3),), (torch.ones(3),))) if twice else (lambda: once(torch.ones(3)))
    assert names(program) == ["held"]
    assert torch._C._functorch.maybe_current_level() is None


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # the first use of forward mode warns
def test_the_tangents_that_jvp_computes_stay_what_they_are(names: Callable[..., list[str]]) -> None:
    times, found = function(lambda: held), list[Any]()
    times.jvp = staticmethod(lambda ctx, tangent: tangent)

    def loss(scale: torch.Tensor) -> torch.Tensor:
        into_a_global(scale * 2)
        return (times.apply(scale) * scale).sum()

    def program() -> None:
        found.append(jvp(loss, (torch.ones(3),), (X,)))

    program()
    assert names(program) == ["held"]
    (plain, tangent), (again, recorded) = found
    assert torch.equal(plain, again)
    assert torch.equal(tangent, recorded)
