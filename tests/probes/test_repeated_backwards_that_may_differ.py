"""Backward calls in which something may act, or be looked for, are watched though they look like others."""

import contextlib
import threading

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import gradscope
from gradscope.probes.nonfinite.operator_risk import is_foreseen
from gradscope.probes.operators.repeated_backwards import Expected
from tests.probes.repeating import STEPS, blocks, record, training, watched

ODD = 30  # the step that differs


def always_watched(path, step, **options):
    seen = watched(record(path, step, **options))
    return len(seen) == STEPS and all(seen.values())


def is_told_apart(path, step):
    """Whether the step that differs is watched, and the one before it is not."""
    seen = watched(record(path, step))
    return seen[ODD] and not seen[ODD - 1]


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_a_hook(tmp_path, register):
    model, _, step = training()
    getattr(model[0].weight, register)(lambda tensor: None)
    assert always_watched(tmp_path / "run.gscope", step)


def test_a_hook_that_is_older_than_the_recording_and_acts_late(tmp_path):
    model, _, step = training()
    fired = []

    def hook(gradient):
        fired.append(gradient)
        return gradient * 2 if len(fired) > ODD else None

    model[0].weight.register_hook(hook)
    path = record(tmp_path / "run.gscope", step)
    assert all("aten.mul.Tensor" in {name for name, *_ in content} for *_, content in blocks(path)[ODD:])


def test_a_hook_that_comes_late(tmp_path):
    model, _, step = training()

    def late(number):
        if number == ODD:
            model[0].weight.register_hook(lambda gradient: gradient.cos())
        step(number)

    contents = blocks(record(tmp_path / "run.gscope", late))
    assert not contents[ODD - 1][1]
    assert all("aten.cos.default" in {name for name, *_ in content} for *_, content in contents[ODD:])


def test_a_hook_on_what_the_forward_makes(tmp_path):
    model, x, _ = training()

    def step(number):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.register_hook(lambda gradient: gradient * 2 if number > ODD else None)
        loss.backward()

    assert always_watched(tmp_path / "run.gscope", step)


class Straight(torch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        Straight.calls += 1
        return gradient if Straight.calls < ODD else gradient * 2


def test_a_custom_function(tmp_path):
    weight = torch.ones(3, requires_grad=True)

    def step(number):
        weight.grad = None
        Straight.apply(weight).sum().backward()

    assert always_watched(tmp_path / "run.gscope", step)


def test_gradients_that_are_added_to(tmp_path):
    weight = torch.ones(3, requires_grad=True)
    assert always_watched(tmp_path / "run.gscope", lambda number: (weight * weight).sum().backward())


def test_create_graph(tmp_path):
    weight = torch.ones(3, requires_grad=True)

    def step(number):
        torch.autograd.grad((weight**3).sum(), weight, create_graph=True)

    assert always_watched(tmp_path / "run.gscope", step)


def test_operators_that_show_values_or_are_not_torchs():
    aten = torch.ops.aten
    shown = (aten._local_scalar_dense.default, aten.nonzero.default, aten.equal.default)
    assert not any(map(is_foreseen, shown))
    assert not is_foreseen(torch.ops.profiler._record_function_enter_new.default)
    assert is_foreseen(aten.mul.Tensor)


def test_a_dispatch_mode_of_the_program(tmp_path):
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            names.append(str(function))
            return function(*arguments, **(keywords or {}))

    names = []
    model, x, _ = training()

    def step(number):
        model.zero_grad()
        loss = model(x).square().mean()
        with Mode() if number == ODD else contextlib.nullcontext():
            loss.backward()

    assert is_told_apart(tmp_path / "run.gscope", step)
    assert "aten.native_layer_norm_backward.default" in names


def test_checkpointing(tmp_path):
    from torch.utils.checkpoint import checkpoint

    layer, x = nn.Linear(4, 4), torch.randn(2, 4)

    def step(number):
        layer.zero_grad()
        checkpoint(layer, x, use_reentrant=False).sum().backward()

    assert always_watched(tmp_path / "run.gscope", step)


def test_a_backward_in_a_thread(tmp_path):
    _, _, step = training()

    def threaded(number):
        thread = threading.Thread(target=step, args=(number,))
        thread.start()
        thread.join()

    assert always_watched(tmp_path / "run.gscope", threaded)


def test_a_debugger_and_stored_tensors_need_all(tmp_path):
    assert always_watched(tmp_path / "run.gscope", training()[2], tensors=True)


def test_another_shape_is_another_kind(tmp_path):
    model, x, _ = training()

    def step(number):
        model.zero_grad()
        model(x[: 3 if number == ODD else 5]).square().mean().backward()

    assert is_told_apart(tmp_path / "run.gscope", step)
    assert not watched(tmp_path / "run.gscope")[ODD + 1]


def test_what_the_forward_did_otherwise(tmp_path):
    model, x, _ = training()

    def step(number):
        model.zero_grad()
        loss = model(x).square().mean()
        if number == ODD:
            loss.detach()
        loss.backward()

    assert is_told_apart(tmp_path / "run.gscope", step)


@pytest.mark.parametrize("switch", ["deterministic", "autocast"])
def test_a_switch_of_torch(tmp_path, switch):
    model, x, _ = training()

    def step(number):
        model.zero_grad()
        loss = model(x).square().mean()
        with switched() if number == ODD else contextlib.nullcontext():
            loss.backward()

    @contextlib.contextmanager
    def switched():
        if switch == "autocast":
            with torch.autocast("cpu", torch.bfloat16):
                yield
            return
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(False)

    assert is_told_apart(tmp_path / "run.gscope", step)


def test_gradients_that_are_given(tmp_path):
    model, x, _ = training()
    given, other = torch.ones(5, 2), torch.ones(2, 5).t()

    def step(number):
        model.zero_grad()
        model(x).backward(other if number == ODD else given)

    assert is_told_apart(tmp_path / "run.gscope", step)


def test_a_power_that_is_no_longer_harmless(tmp_path):
    weight, power = torch.ones(3, requires_grad=True), {True: 2.0, False: 0.5}

    def step(number):
        weight.grad = None
        (weight ** power[number < ODD]).sum().backward()

    assert is_told_apart(tmp_path / "run.gscope", step)


@pytest.mark.parametrize("wrong", [float("nan"), 1e12])
def test_a_loss_under_suspicion(tmp_path, wrong):
    model, x, _ = training(lambda: nn.Linear(4, 1))

    def step(number):
        model.zero_grad()
        (model(x) * torch.full((), wrong if number == ODD else 1.0)).sum().backward()

    assert is_told_apart(tmp_path / "run.gscope", step)


# what is found is found all the same


def test_a_nan_that_is_born_in_a_late_backward(tmp_path):
    weight = torch.full((3,), 2.0, requires_grad=True)

    def step(number):
        weight.grad = None
        with torch.no_grad():
            weight[0] = 0.0 if number == 35 else 2.0
        (weight.square().sum(0, keepdim=True) - weight[1:].square().sum()).sqrt().sum().backward()

    path = record(tmp_path / "run.gscope", step)
    with gradscope.load(path) as recording:
        found = recording.findings
    assert [one.code for one in found][:1] == ["GS731"]


def test_an_exception_leaves_the_rest_seen(tmp_path):
    model, x, step = training()

    def failing(number):
        if number == ODD:
            model.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            with pytest.raises(RuntimeError):
                loss.backward()
        else:
            step(number)

    path = record(tmp_path / "run.gscope", failing)
    with gradscope.load(path) as recording:
        forwards = [one for one in recording.blocks() if one.backward is None]
    assert sum(any(each.name == "aten.add_.Tensor" for each in one.operations) for one in forwards) == STEPS - 1


def test_a_process_whose_backward_never_repeats_forgets(tmp_path):
    weight = torch.ones(300, requires_grad=True)

    def step(number):
        weight.grad = None
        weight[: number + 1].sum().backward()

    seen = watched(record(tmp_path / "run.gscope", step, steps=200))
    assert all(seen.values())


def test_a_parameter_that_lies_otherwise_in_memory(tmp_path):
    model, _, step = training()

    def turned(number):
        if number == ODD:
            model[0].weight.data = model[0].weight.data.t().contiguous().t()
        step(number)

    assert is_told_apart(tmp_path / "run.gscope", turned)


def ran(expected, *calls):
    """Whether the next call would be left out, after each of some calls that are not."""
    return [(expected.learn(blocks), expected.is_enough())[1] for blocks in calls]


def test_one_that_differs_before_any_was_left_out_begins_anew_and_needs_more():
    expected = Expected([1], 1)
    assert ran(expected, [2], *[[2]] * 10) == [False] * 11
    assert ran(expected, [2]) == [True]


def test_one_that_differs_after_some_were_left_out_ends_it_for_good():
    expected = Expected([1], 1)
    assert ran(expected, [1], [1], [2]) == [False, True, False]
    assert not any(ran(expected, *[[2]] * 60))
