"""Whatever a recording changes in Python and torch is as it was when it ends."""

import gc
import sys
import threading
import warnings
from types import FunctionType

import pytest
import torch
import torch._dynamo

import gradscope

MODULES = ("torch", "threading", "warnings", "sys", "signal", "os", "logging", "builtins", "gc", "traceback")
OF_TORCH = 3  # parts of a module's name: torch._dynamo is looked at, what it loads lazily is not all


def attributes():
    """Every attribute of torch's modules and classes, and of those of Python that a tool may change."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in MODULES and name.count(".") < OF_TORCH and type(module) is type(sys):
            for key, value in list(vars(module).items()):
                found[name, key] = id(value)
                if issubclass(type(value), type) and value.__module__ == name:
                    for inner, held in list(vars(value).items()):
                        found[name, key, inner] = id(held)
                        if isinstance(held, FunctionType):
                            found[name, key, inner, "__code__"] = id(held.__code__)
                elif type(value) is FunctionType:
                    found[name, key, "__code__"] = id(value.__code__)
    return found


def state():
    return (
        attributes(),
        torch.nn.Module._wrapped_call_impl.__code__,
        list(warnings.filters),
        torch._C._len_torch_dispatch_stack(),
        torch._C._is_torch_function_mode_enabled(),
        torch.is_anomaly_enabled(),
        torch.is_anomaly_check_nan_enabled(),
        gc.isenabled(),
        gc.get_threshold(),
        len(gc.callbacks),
        threading.active_count(),
        sys.gettrace(),
        sys.getprofile(),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
    )


def work():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    model.register_full_backward_hook(lambda module, passed, received: None)
    x = torch.ones(1, 2, requires_grad=True)
    y = model(x)
    y.retain_grad()
    thread = threading.Thread(target=y.sum().backward)
    thread.start()
    thread.join()
    (slope,) = torch.autograd.grad(model(x).exp().sum(), x, create_graph=True)
    slope.sum().backward()


def volatile(name):
    """Counters and caches that any run moves."""
    return name[-1] in (
        "next_id",
        "next_unique_id",
        "_counter",
        "_active",
        "_limbo",
        "_shutdown_locks",
        "_dangling",
        "last_value",
    )


def test_every_attribute_is_as_it_was(tmp_path):
    work()
    for detail in ("nodes", "ops", "full"):
        with gradscope.record(tmp_path / "first.gscope", detail=detail, overwrite=True):
            work()
        before, *rest = state()
        with gradscope.record(tmp_path / f"{detail}.gscope", detail=detail) as recording:
            work()
        after, *rest_after = state()
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        assert {name for name in changed if not volatile(name)} == set()
        assert rest_after == rest
        assert recording.summary.faults == {}


def test_one_recording_at_a_time_and_the_second_says_which_runs(tmp_path):
    with gradscope.record(tmp_path / "outer.gscope") as outer:
        with pytest.raises(gradscope.errors.UsageError, match=r"recorded already, into .*outer\.gscope"):
            gradscope.record(tmp_path / "inner.gscope")
        work()
    assert not (tmp_path / "inner.gscope").exists()
    assert outer.summary.backwards == 3
    prepared = gradscope.record(tmp_path / "later.gscope")
    with prepared:
        work()
    assert prepared.summary.backwards == 3
