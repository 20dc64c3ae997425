"""Operators on the engine's own threads carry the backward and the node that torch says they ran in.

On a CPU a thread of torch's pool runs what is nested more than 60 deep. The thread of a device is there as soon as a
device is, and one can be made in Python.
"""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import gradscope
from gradscope.probes.core.graph_tasks import NO_TASK, GraphTasks
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.core.threads import Threads
from gradscope.store.reader import Recording
from tests.accelerator import pretend
from tests.capture.side_by_side import python

DEEP = 70  # torch leaves the caller's thread at 60
Ran = tuple[str, str | None]  # an operator, and the node that it ran in


class Nested(torch.autograd.Function):
    """Its backward runs another one, so many deep, and `function` in the innermost."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, depth: int, function: Any) -> torch.Tensor:
        ctx.depth, ctx.function = depth, function
        return x * 1

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        with torch.enable_grad():
            inner = torch.ones(2, requires_grad=True)
            nested(inner, ctx.depth - 1, ctx.function).backward()
        return gradient * inner.grad, None, None


def nested(x: torch.Tensor, depth: int, function: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    result = Nested.apply(x, depth, function) if depth else function(x)
    return (result + result * x).sum()  # several gradients for one input: torch adds them up between two nodes


def train(function: Callable[[torch.Tensor], torch.Tensor] = torch.exp, times: int = 1) -> None:
    x = torch.ones(2, requires_grad=True)
    for _ in range(times):
        nested(x, DEEP, function).backward()


class Witness(TorchDispatchMode):
    """What torch says: the operators of each of the engine's tasks, with the node that was current."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: dict[int, list[Ran]] = defaultdict(list)
        self.threads: set[int] = set()

    def __torch_dispatch__(self, operator: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        node, task = torch._C._current_autograd_node(), torch._C._current_graph_task_id()
        if task >= 0:
            self.threads.add(threading.get_ident())
            self.ran[task].append((str(operator), None if node is None else node.name()))
        return operator(*arguments, **(keywords or {}))

    def in_order(self) -> list[list[Ran]]:
        return [self.ran[task] for task in sorted(self.ran)]


def ran(recording: Recording) -> list[list[Ran]]:
    """The same as recorded."""
    found: dict[int, list[Ran]] = defaultdict(list)
    for block in recording.blocks():
        if block.backward is not None:
            nodes = recording.graph(block.backward).nodes
            found[block.backward] += [
                (one.name, None if one.node is None else nodes[one.node].name) for one in block.operations
            ]
    return [found[backward] for backward in sorted(found)]


@contextmanager
def recorded(folder: Path, detail: str, function: Callable[[], object]) -> Iterator[Recording]:
    with gradscope.record(folder / "run.gscope", detail=detail):
        function()
    with gradscope.load(folder / "run.gscope") as recording:
        assert recording.faults() == ()
        yield recording


@pytest.mark.parametrize("detail", ["ops", "full"])
def test_operators_of_deeply_nested_backwards_are_in_the_nodes_that_torch_says(tmp_path: Path, detail: str) -> None:
    witness = Witness()

    def run() -> None:
        with witness:
            train(times=2)

    with recorded(tmp_path, detail, run) as recording:
        assert len(witness.threads) > 1
        assert ran(recording) == witness.in_order()
        assert all(block.backward is not None for block in recording.blocks() if block.thread)


def test_each_of_the_engines_threads_is_one_thread(tmp_path: Path) -> None:
    """Torch's pool makes a new thread of Python's each time that it calls into it."""
    with recorded(tmp_path, "ops", lambda: train(times=3)) as recording:
        assert {block.thread for block in recording.blocks()} == {0, 1}


@pytest.mark.parametrize("detail", ["nodes", "ops"])
def test_a_backward_in_a_thread_of_the_engine_is_nested_and_ends_no_step(tmp_path: Path, detail: str) -> None:
    with recorded(tmp_path, detail, lambda: train(times=2)) as recording:
        calls = recording.backwards()
        nested_in = [None, *range(DEEP), None, *range(DEEP + 1, 2 * DEEP + 1)]
        assert [(call.nested_in, call.step) for call in calls] == [
            (outer, number // (DEEP + 1)) for number, outer in enumerate(nested_in)
        ]


def test_operators_without_a_frame_have_the_line_that_called_backward(tmp_path: Path) -> None:
    with recorded(tmp_path, "ops", train) as recording:
        block = next(block for block in recording.blocks() if block.thread)
        called = recording.backwards()[block.backward]
        assert block.operations[0].stack[1:] == called.stack


@pytest.mark.parametrize("where", ["cpu", "accelerator"])
def test_what_is_born_there_tells_its_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    if where == "accelerator":
        pretend(monkeypatch.setattr)
    with recorded(tmp_path, "ops", lambda: train(lambda x: (x - 1).sqrt() * x)) as recording:
        (birth,) = recording.births()
        assert (birth.op, birth.thread, birth.backward) == ("aten.div.Tensor", 1, DEEP)
        assert recording.graph(birth.backward).nodes[birth.node].name == "SqrtBackward0"


def test_a_nested_backward_over_the_same_nodes_is_told_from_the_one_around_it(tmp_path: Path) -> None:
    witness = Witness()

    def again(x: torch.Tensor) -> torch.Tensor:
        shared = (x * 2).exp()

        def run_it(gradient: torch.Tensor) -> None:
            handle.remove()
            with torch.enable_grad():
                shared.sum().backward(retain_graph=True)

        handle = shared.register_hook(run_it)
        return shared

    def run() -> None:
        with witness:
            train(again)

    with recorded(tmp_path, "full", run) as recording:
        assert ran(recording) == witness.in_order()
        for call in recording.backwards():
            measured = sorted(one.node for one in recording.node_runs(call.number))
            assert measured == list(range(len(recording.graph(call.number).nodes)))


def test_threads_that_call_backward_keep_to_their_own(tmp_path: Path) -> None:
    functions = (torch.exp, torch.sin, torch.tanh, torch.sigmoid)
    witnesses = [Witness() for _ in functions]

    def run() -> None:
        start = threading.Barrier(len(functions))

        def work(function: Any, witness: Witness) -> None:
            start.wait()
            with witness:
                train(function)

        workers = [threading.Thread(target=work, args=each) for each in zip(functions, witnesses, strict=True)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    with recorded(tmp_path, "ops", run) as recording:
        assert sorted(map(str, ran(recording))) == sorted(str(one) for each in witnesses for one in each.in_order())
        calls = recording.backwards()
        assert sum(call.nested_in is None for call in calls) == len(functions)
        assert len(calls) == len(functions) * (DEEP + 1)


def test_after_a_backward_that_failed_there_the_next_one_is_whole(tmp_path: Path) -> None:
    def fail(x: torch.Tensor) -> torch.Tensor:
        result = x.exp()
        result.register_hook(lambda gradient: gradient.no_such_thing)
        return result

    def run() -> None:
        with witness:
            with pytest.raises(AttributeError):
                train(fail)
            train()

    witness = Witness()
    with recorded(tmp_path, "ops", run) as recording:
        assert ran(recording) == witness.in_order()


def test_a_recording_that_begins_in_a_hook_takes_its_thread_for_the_programs() -> None:
    found = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda gradient: found.append(Threads.counting().current))
    x.sum().backward()
    assert [(one.number, one.is_engines) for one in found] == [(0, False)]


def call(number: int, nodes: tuple[int, ...]) -> Any:
    return SimpleNamespace(
        number=number, outer=None, task=NO_TASK, base=0, walked=SimpleNamespace(numbers=dict.fromkeys(nodes, 0))
    )


def test_which_of_two_backwards_over_the_same_nodes_it_works_for_is_not_guessed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks, thread = GraphTasks(), Thread(1, is_engines=True)
    first, second, other = call(0, (5, 6)), call(1, (5, 6)), call(2, (7,))
    for each in (first, second, other):
        tasks.begin(each)
    monkeypatch.setattr("gradscope.probes.core.graph_tasks.current_node", lambda: torch)
    monkeypatch.setattr("gradscope.probes.core.graph_tasks.token_of", lambda node: SimpleNamespace(uid=now["node"]))
    monkeypatch.setattr("gradscope.probes.core.graph_tasks.current_task", lambda: now["task"])
    now = {"node": 5, "task": 30}
    assert tasks.running(thread) is None
    now = {"node": 7, "task": 32}
    assert tasks.running(thread) is other
    tasks.end(second)
    now = {"node": 5, "task": 30}
    assert tasks.running(thread) is first


def test_nothing_is_kept_of_calls_that_are_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[GraphTasks] = []
    monkeypatch.setattr("gradscope.probes.core.threads.GraphTasks", lambda: made.append(GraphTasks()) or made[-1])
    with recorded(tmp_path, "ops", train):
        (tasks,) = made
        assert not tasks._known
        assert not tasks._unknown
        assert [thread.backward for thread in tasks.threads.values()] == [None]


DEVICE = """
import json, os, threading, torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend as set_up
import gradscope
from tests.probes.test_engine_threads import Witness

VALUES = {}  # of the tensors on the device, by their storage

def far(near):
    tensor = torch._C._acc.create_empty_tensor(near.shape, near.dtype)
    VALUES[tensor.untyped_storage()._cdata] = near
    return tensor

def near(value):
    on_device = isinstance(value, torch.Tensor) and value.device.type != "cpu"
    return VALUES[value.untyped_storage()._cdata].view(value.shape) if on_device else value

def kernel(operator):
    def run(*arguments, **keywords):
        keywords.pop("device", None)
        return far(operator(*map(near, arguments), **keywords))
    return run

set_up("far")
library = torch.library.Library("aten", "IMPL")
aten = torch.ops.aten
for operator in (aten.mul.Tensor, aten.add.Tensor, aten.exp.default, aten.sin.default, aten.cos.default,
                 aten.sum.default, aten.expand.default, aten.detach.default):
    library.impl(operator._schema.name.removeprefix("aten::") + "." * bool(operator._schema.overload_name)
                 + operator._schema.overload_name, kernel(operator), "PrivateUse1")

class Middle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, gradient):
        with torch.enable_grad():
            inner = far(torch.ones(3)).requires_grad_()
            (inner * inner).sum().backward(far(torch.ones(())))
        return gradient * inner.grad

witness, main = Witness(), threading.get_ident()
with gradscope.record("run.gscope", detail="full"), witness:
    for _ in range(3):
        x = far(torch.ones(3)).requires_grad_()
        (Middle.apply((x * x).exp()).sin()).sum().backward(far(torch.ones(())))
print(json.dumps([main in witness.threads, witness.in_order()]), flush=True)
os._exit(0)  # the thread of a device in Python aborts some processes at the interpreter's end
"""


@pytest.mark.skipif(not hasattr(torch._C, "_acc"), reason="this torch has no devices in Python")
def test_operators_on_a_devices_own_thread_are_in_the_nodes_that_torch_says(tmp_path: Path) -> None:
    root = str(Path(__file__).parent.parent.parent)
    run = python(tmp_path, "-c", DEVICE, OMP_NUM_THREADS="1", PYTHONPATH=os.pathsep.join((root, str(tmp_path))))
    assert run.status == 0, run.stderr
    by_main, witnessed = json.loads(run.stdout)
    assert not by_main
    with gradscope.load(tmp_path / "run.gscope") as recording:
        assert recording.faults() == ()
        assert [[list(one) for one in each] for each in ran(recording)] == witnessed
        assert {block.thread for block in recording.blocks() if block.backward is not None} == {1}
        assert [call.nested_in for call in recording.backwards()] == [None, 0, None, 2, None, 4]
