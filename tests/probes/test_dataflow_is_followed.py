"""Operators are recorded with the tensors that they read and made, and no tensor lives longer for it."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
import torch

import gradscope
from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.model.flow import FlowOperation, GradientState
from gradscope.store.reader import Recording, load

FIRST = 3  # steps that are looked at


def operators(recorded: Recording) -> list[FlowOperation]:
    return [one for one in recorded.flow() if one.backward is None]


def names(found: list[FlowOperation]) -> list[str]:
    return [one.operation.name for one in found]


def step(weight: torch.Tensor) -> None:
    (weight * 2).sum().backward()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.gscope"


def test_what_one_operator_makes_the_next_one_reads(path: Path) -> None:
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(path):
        step(weight)
    with load(path) as recorded:
        multiply, add, *_ = operators(recorded)
        assert names([multiply, add]) == ["aten.mul.Tensor", "aten.sum.default"]
        assert multiply.makes == tuple(one.tensor for one in add.reads)
        assert [(one.requires_grad, one.leaf) for one in (*multiply.reads, *add.reads)] == [(True, True), (True, False)]


def test_a_view_shares_its_storage_and_a_result_does_not(path: Path) -> None:
    weight = torch.ones(2, 3, requires_grad=True)
    with gradscope.record(path):
        (weight.t() * 2).sum().backward()
    with load(path) as recorded:
        tensors = {one.number: one for one in recorded.flow_tensors()}
        view, product, _ = operators(recorded)[:3]
        source, seen, made = (tensors[one] for one in (view.reads[0].tensor, *view.makes, *product.makes))
        assert source.storage == seen.storage != made.storage


def test_a_tensor_in_the_place_of_a_dead_one_is_another(path: Path) -> None:
    with gradscope.record(path):
        for _ in range(20):
            torch.ones(3).neg_()
        step(torch.ones(3, requires_grad=True))
    with load(path) as recorded:
        made = [one.makes for one in operators(recorded) if one.operation.name == "aten.ones.default"]
        assert len(set(made)) == len(made) >= 20


def test_only_the_first_steps_are_looked_at_while_nothing_is_new(path: Path) -> None:
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(path):
        for _ in range(10):
            step(weight)
    with load(path) as recorded:
        assert names(operators(recorded)).count("aten.mul.Tensor") == FIRST


def test_new_operators_make_it_look_again(path: Path) -> None:
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(path):
        for number in range(10):
            step(weight if number < 6 else weight.exp())
    with load(path) as recorded:
        assert "aten.exp.default" in names(operators(recorded))


def test_a_step_that_comes_once_in_several_is_followed_when_it_comes_again(path: Path) -> None:
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(path):
        for number in range(24):
            step(weight.exp() if number % 6 == 5 else weight)
    with load(path) as recorded:
        assert names(operators(recorded)).count("aten.exp.default") == 1


def test_what_is_new_once_is_not_waited_for_long(path: Path) -> None:
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(path):
        for number in range(60):
            step(weight.exp() if number == 5 else weight)
    with load(path) as recorded:
        assert names(operators(recorded)).count("aten.mul.Tensor") == FIRST + 11


def test_no_tensor_lives_longer(path: Path) -> None:
    with gradscope.record(path):
        tensor = torch.ones(3, requires_grad=True)
        result = tensor * 2
        dead = [weakref.ref(tensor), weakref.ref(result)]
        result.sum().backward()
        del tensor, result
        gc.collect()
        assert [one() for one in dead] == [None, None]


def test_what_a_backward_starts_from_is_recorded_when_it_is_refused(path: Path) -> None:
    with gradscope.record(path):
        constant = torch.ones(3).sum()
        with pytest.raises(RuntimeError, match="does not require grad"):
            constant.backward()
    with load(path) as recorded:
        (end,) = recorded.flow_ends()
        assert not end.requires_grad
        assert [at.operation.name for at in RecordedDataflow(recorded.flow(), recorded.flow_tensors(), ()).operations][
            :2
        ] == [
            "aten.ones.default",
            "aten.sum.default",
        ]


def test_operators_know_whether_gradients_were_on(path: Path) -> None:
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(path):
        with torch.no_grad():
            weight.exp()
        step(weight)
    with load(path) as recorded:
        grad = {one.operation.name: one.operation.grad for one in operators(recorded)}
        assert (grad["aten.exp.default"], grad["aten.mul.Tensor"]) == (False, True)


def test_gradients_are_looked_at_before_an_optimizer_steps(path: Path) -> None:
    used, unused, frozen = (torch.ones(2, requires_grad=True) for _ in range(3))
    frozen.requires_grad_(False)
    optimizer = torch.optim.SGD([used, unused, frozen], lr=0.1)
    with gradscope.record(path):
        step(used)
        optimizer.step()
    with load(path) as recorded:
        (look,) = recorded.optimizer_looks()
        states = [one.state for one in look.parameters]
        assert states == [GradientState.VALUES, GradientState.NONE, GradientState.FROZEN]
        assert (look.name, look.count, look.backward) == ("SGD", 0, 0)


def test_optimizers_and_tensors_are_looked_at_again_when_a_gradient_goes(path: Path) -> None:
    first, second = (torch.ones(2, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([first, second], lr=0.1)
    with gradscope.record(path):
        for number in range(60):
            optimizer.zero_grad()
            (first * (second.detach() if number >= 37 else second)).sum().backward()
            optimizer.step()
    with load(path) as recorded:
        counts = [look.count for look in recorded.optimizer_looks()]
        assert counts == [*range(6), 8, 16, 32, 37, 38, 39]
        followed = {one.backward for one in recorded.flow() if one.backward is not None}
        assert {38, 39} <= followed
        assert {39, 40} <= {leaf.backward for leaf in recorded.leaf_gradients()}


def test_all_backwards_of_the_first_steps_of_a_late_optimizer_are_looked_at(path: Path) -> None:
    first, second = (torch.ones(2, requires_grad=True) for _ in range(2))
    early, late = (torch.optim.SGD([one], lr=0.1) for one in (first, second))
    with gradscope.record(path):
        for number in range(40):
            (first * second.detach()).sum().backward()
            early.step()
            if number >= 33:
                (first.detach() * second).sum().backward()
                late.step()
    with load(path) as recorded:
        assert {*range(35, 41)} <= {leaf.backward for leaf in recorded.leaf_gradients()}
