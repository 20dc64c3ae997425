"""The calls by which a program trains are recorded in its order, with what they found, and leave torch as it was."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import gradscope
from gradscope.model.training import (
    AUTOCAST,
    CLIP,
    EVAL,
    FORWARD,
    FREEZE,
    GAP,
    LEARN,
    LOAD,
    LOAD_NOTHING,
    MADE,
    NO_SYNC,
    ONE_MEMORY,
    PARTED,
    RESTORE,
    STATE,
    STEP,
    TRAIN,
    UNHOOK,
    ZERO_GRAD,
    CallKind,
    TrainingCall,
)
from gradscope.probes.training.described import HEARD
from gradscope.torch_internals.find import find


def calls_of(path: Path) -> list[TrainingCall]:
    with gradscope.load(path) as recording:
        return [call for interval in recording.intervals() for call in interval.calls]


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 1))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def test_a_loop_is_told_in_its_order(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        model.train()
        train(model, optimizer, 2)
        model.eval()
        with torch.no_grad():
            model(torch.ones(1, 2))
    kinds = [call.kind for call in calls_of(tmp_path / "run.gscope")]
    assert kinds == [MADE, TRAIN, *2 * [ZERO_GRAD, FORWARD, CLIP, STEP], EVAL, FORWARD]


@pytest.mark.parametrize(
    ("register", "order"),
    [("register_step_pre_hook", [CLIP, STEP]), ("register_step_post_hook", [STEP, CLIP])],
)
def test_a_hook_clips_before_the_step_or_behind_it(register: str, order: list[CallKind], tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        getattr(optimizer, register)(lambda *_: nn.utils.clip_grad_norm_(model.parameters(), 1.0) and None)
        for _ in range(2):
            model(torch.ones(4, 2)).sum().backward()
            optimizer.step()
    kinds = [call.kind for call in calls_of(tmp_path / "run.gscope")]
    assert kinds == [MADE, *2 * [FORWARD, *order]]


def test_each_call_says_what_it_found(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = net()
        train(model, torch.optim.SGD(model.parameters(), 0.1), 2)
        model.eval()
        kept = model.state_dict()
        model.load_state_dict(kept)
        model.load_state_dict({name: value.clone() for name, value in kept.items()})
    said = {(call.kind.name, call.count, call.total) for call in calls_of(tmp_path / "run.gscope")}
    assert said == {
        ("made", 0, 0),
        ("zero_grad", 0, 4),  # the first finds no gradients
        ("zero_grad", 4, 4),
        ("forward", 1, 1),
        ("clip", 1, -1),  # nobody reads a generator twice
        ("step", 4, 4),
        ("eval", 4, 1),  # four modules change, one computes something else
        ("state_dict", 0, 0),
        ("load_state_dict", 4, 4),  # its own memory
        ("load_state_dict", 0, 4),
    }


def state_of(*parameters: torch.Tensor) -> torch.optim.Optimizer:
    """An optimizer that keeps a momentum for each."""
    optimizer = torch.optim.SGD(parameters, 0.1, momentum=0.9)
    sum(one.sum() for one in parameters).backward()
    optimizer.step()
    return optimizer


@pytest.mark.parametrize(
    ("shapes", "others"),
    [
        ([(4, 3), (2, 4)], 0),
        ([(2, 4), (4, 3)], 2),  # the other way round
        ([(4, 3), (2, 5)], 1),  # of a model that is wider since
    ],
    ids=str,
)
def test_states_of_other_parameters_are_counted(tmp_path: Path, shapes: list[tuple[int, int]], others: int) -> None:
    saved = state_of(*(nn.Parameter(torch.ones(shape)) for shape in ((4, 3), (2, 4)))).state_dict()
    with gradscope.record(tmp_path / "run.gscope"):
        torch.optim.SGD([nn.Parameter(torch.ones(shape)) for shape in shapes]).load_state_dict(saved)
    (call,) = [call for call in calls_of(tmp_path / "run.gscope") if call.kind is RESTORE]
    assert (call.count, call.total) == (others, 2)


def test_a_factorised_state_is_no_others(tmp_path: Path) -> None:
    weight = nn.Parameter(torch.ones(6, 4))
    optimizer = torch.optim.Adafactor([weight], 0.1)
    weight.sum().backward()
    optimizer.step()
    with gradscope.record(tmp_path / "run.gscope"):
        torch.optim.Adafactor([weight], 0.1).load_state_dict(optimizer.state_dict())
    (call,) = [call for call in calls_of(tmp_path / "run.gscope") if call.kind is RESTORE]
    assert (call.count, call.total) == (0, 1)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"module.weight": torch.ones(2, 3)}, LOAD_NOTHING),
        ({}, LOAD_NOTHING),
        ({"weight": torch.ones(2, 3), "head.weight": torch.ones(1)}, LOAD),
    ],
    ids=["prefix", "empty", "part"],
)
def test_a_state_of_other_names_loads_nothing(tmp_path: Path, given: dict[str, torch.Tensor], kind: CallKind) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        nn.Linear(3, 2).load_state_dict(given, strict=False)
    (call,) = calls_of(tmp_path / "run.gscope")
    assert (call.kind, call.total) == (kind, 2)


def test_a_module_that_translates_names_is_believed(tmp_path: Path) -> None:
    module = nn.Linear(3, 2)
    module.register_load_state_dict_pre_hook(lambda _, state, *rest: state.update(weight=state.pop("old")))
    with gradscope.record(tmp_path / "run.gscope"):
        module.load_state_dict({"old": torch.ones(2, 3)}, strict=False)
    assert [call.kind for call in calls_of(tmp_path / "run.gscope")] == [LOAD]


@pytest.mark.parametrize("given", [{}, {"state": None, "param_groups": []}, {"state": {}, "param_groups": 3}, None])
def test_what_is_no_state_fails_as_it_does_without_us(tmp_path: Path, given: object) -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))])
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)) as plain:
        optimizer.load_state_dict(given)
    with gradscope.record(tmp_path / "run.gscope") as recorded, pytest.raises(plain.type) as traced:
        optimizer.load_state_dict(given)
    assert str(traced.value) == str(plain.value)
    assert recorded.summary.faults == {}


def test_a_module_inside_another_says_nothing(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = net()
        model.train()
        model.state_dict()
    assert [call.kind for call in calls_of(tmp_path / "run.gscope")] == [TRAIN, STATE]


@pytest.mark.parametrize("keeps", ["super().train(False)", "self.norm.eval()"])
def test_a_module_that_keeps_its_mode_says_so(keeps: str, tmp_path: Path) -> None:
    class Frozen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(2)

        def train(self, mode: bool = True) -> Frozen:
            if keeps.startswith("self"):
                super().train(mode)
                self.norm.eval()
            else:
                super().train(False)
            return self

    with gradscope.record(tmp_path / "run.gscope"):
        nn.Sequential(Frozen(), nn.Linear(2, 1)).train()
    assert [call.kind for call in calls_of(tmp_path / "run.gscope")] == [TRAIN, EVAL]


def test_what_was_not_recorded_is_a_gap(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope", steps="2:4"):
        model = net()
        train(model, torch.optim.SGD(model.parameters(), 0.1), 5)
    calls = calls_of(tmp_path / "run.gscope")
    assert calls[0].kind is GAP
    assert sum(call.kind is STEP for call in calls) == 3  # before the two, between them, and after the last


def test_learning_rates_are_told_where_they_change(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        train(model, optimizer, 3)
        optimizer.param_groups[0]["lr"] = 0.05
        train(model, optimizer, 2)
    with gradscope.load(tmp_path / "run.gscope") as recording:
        assert [(one.count, one.value) for one in recording.learning_rates()] == [(0, 0.1), (3, 0.05)]


def test_how_much_a_step_changes_is_what_the_program_sees(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        weight = nn.Parameter(torch.tensor([1.0, 2.0, 300_000_000.0]))
        optimizer = torch.optim.SGD([weight], 0.1)
        weight.sum().backward()
        before = weight.detach().clone()
        optimizer.step()
    with gradscope.load(tmp_path / "run.gscope") as recording:
        (update,) = recording.updates()
    assert (update.changed, update.elements) == (int((weight != before).sum()), 3) == (2, 3)


@pytest.mark.parametrize("name", HEARD)
def test_torch_is_as_it_was_afterwards(name: str, tmp_path: Path) -> None:
    function = inspect.unwrap(find(name))
    before, names = function.__code__, set(function.__globals__)
    with gradscope.record(tmp_path / "run.gscope"):
        heard = function.__code__
    assert heard is not before
    lines = [{line for *_, line in code.co_lines()} for code in (heard, before)]
    assert lines[0] >= lines[1]  # tracebacks show the same
    assert function.__code__ is before
    assert set(function.__globals__) == names


def test_a_loaded_state_is_heard_once(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = net()
        model.load_state_dict(net().state_dict())
    assert [call.kind for call in calls_of(tmp_path / "run.gscope")] == [STATE, LOAD]


def test_an_autocast_that_stands_in_no_other_is_told(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        for _ in range(2):
            with torch.autocast("cpu", torch.bfloat16), torch.autocast("cpu", enabled=False):
                loss = net()(torch.ones(4, 2)).sum()
            loss.backward()
    said = [(call.count, call.total) for call in calls_of(tmp_path / "run.gscope") if call.kind is AUTOCAST]
    assert said == [(1, 1), (0, 0)] * 2


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        self.tie()

    def tie(self) -> None:
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.embedding(tokens))


@pytest.mark.parametrize("again", [False, True])
def test_what_a_load_parts_is_told_when_the_model_is_called(again: bool, tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = Tied()
        model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()}, assign=True)
        if again:
            model.tie()
        model(torch.tensor([1])).sum().backward()
    told = [(call.module, call.count, call.total) for call in calls_of(tmp_path / "run.gscope") if call.kind is PARTED]
    assert told == ([] if again else [("embedding.weight, head.weight", 1, 2)])


@pytest.mark.parametrize("over_one", [False, True])
def test_parameters_over_one_memory_are_told_at_the_first_step(over_one: bool, tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = Tied()
        if over_one:
            model.head.weight = nn.Parameter(model.embedding.weight.data)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model(torch.tensor([1])).sum().backward()
            optimizer.step()
    told = [(one.module, one.count) for one in calls_of(tmp_path / "run.gscope") if one.kind is ONE_MEMORY]
    assert told == ([("embedding.weight, head.weight", 2)] if over_one else [])


@pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")
def test_no_sync_is_heard_at_its_line(tmp_path: Path) -> None:
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        with gradscope.record(tmp_path / "run.gscope"):
            model = nn.parallel.DistributedDataParallel(net())
            with model.no_sync():
                line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
                model(torch.ones(1, 2)).sum().backward()
    finally:
        torch.distributed.destroy_process_group()
    (call,) = [call for call in calls_of(tmp_path / "run.gscope") if call.kind is NO_SYNC]
    assert call.site is not None
    assert (call.site.file, call.site.line) == (__file__, line)


def test_what_a_module_freezes_and_melts_is_told(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = net()
        model[0].requires_grad_(False)
        model.requires_grad_(False)
        model.requires_grad_()
    said = [(call.kind, call.count, call.total) for call in calls_of(tmp_path / "run.gscope")]
    assert said == [(FREEZE, 2, 2), (FREEZE, 2, 4), (LEARN, 4, 4)]


def test_a_loop_over_modules_is_told_once(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = nn.Sequential(*(nn.Linear(1, 1) for _ in range(600)))
        for module in model:
            module.requires_grad_(False)
    (call,) = calls_of(tmp_path / "run.gscope")
    assert (call.kind, call.count, call.total) == (FREEZE, 2, 2)


def test_a_hook_that_is_removed_is_told_with_its_line(tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = net()
        handle = model.register_forward_hook(lambda module, inputs, output: None)
        model(torch.ones(1, 2)).sum().backward()
        handle.remove()
        line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
        handle.remove()  # it is not there any more
    (call,) = [call for call in calls_of(tmp_path / "run.gscope") if call.kind is UNHOOK]
    assert call.site is not None
    assert (call.site.file, call.site.line) == (__file__, line)


@pytest.mark.parametrize("detail", ["nodes", "ops", "full"])
def test_gradscopes_own_hooks_are_not_told(detail: str, tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope", detail=detail):
        model = net()
        weight = model[0].weight
        weight.register_hook(lambda gradient: None)
        model[2].register_full_backward_hook(lambda module, inputs, outputs: None)
        train(model, torch.optim.SGD(model.parameters(), 0.1), 3)
    assert not [call for call in calls_of(tmp_path / "run.gscope") if call.kind is UNHOOK]


@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda model: nn.DataParallel(nn.DataParallel(model))])
def test_a_wrapper_has_the_mode_of_what_is_inside_and_its_name(
    tmp_path: Path, wrap: Callable[[nn.Module], nn.Module]
) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        model = net()
        wrapper = wrap(model)
        wrapper(torch.ones(4, 2)).sum().backward()
        model.eval()
        wrapper(torch.ones(4, 2)).sum().backward()
    calls = [one for one in calls_of(tmp_path / "run.gscope") if one.kind in (EVAL, FORWARD)]
    assert [(one.kind, one.module, one.count) for one in calls] == [
        (FORWARD, "DataParallel", 1),
        (EVAL, "DataParallel", 4),
        (FORWARD, "DataParallel", 0),
    ]
