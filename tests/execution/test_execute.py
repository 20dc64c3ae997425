"""Running a recorded backward again: what is equal, what differs, what cannot be repeated."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import gradscope
from gradscope.engine.change import with_priorities
from gradscope.engine.order import predict
from gradscope.errors import NothingCheckedError
from gradscope.execution.execute import execute
from gradscope.execution.extract import extract
from gradscope.model.dispatch import Dispatch, Phase, Place, StoredBackward
from gradscope.model.execution import NodeStatus
from gradscope.model.graph import Graph
from gradscope.model.tensor import TensorType
from tests.engine.live import live_graph
from tests.engine.programs import OPERATIONS, random_tensors, reentrant
from tests.torch_versions import needs_saved_tensors

Recorded = tuple[Graph, StoredBackward]


def recorded(folder: Path, program: Callable[[], Any]) -> Recorded:
    with gradscope.record(folder / "run.gscope", tensors=True, overwrite=True):
        program()
    with gradscope.load(folder / "run.gscope") as recording:
        assert recording.faults() == ()
        return recording.graph(0), recording.stored(0)


@pytest.fixture
def small(tmp_path: Path) -> Recorded:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    return recorded(tmp_path, lambda: model(torch.randn(5, 3)).square().sum().backward())


def name(graph: Graph, node: int) -> str:
    return graph.nodes[node].name


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_are_equal(seed: int, tmp_path: Path) -> None:
    choose = random.Random(seed)
    torch.manual_seed(seed)
    pool = random_tensors(choose, (*OPERATIONS, reentrant), 20)

    def program() -> None:
        if seed % 2:
            torch.autograd.grad([pool[-1].sum()], choose.sample(pool[:-4], 2), allow_unused=True, create_graph=True)
        else:
            pool[-1].sum().backward()

    if seed % 2:  # torch forbids re-entrant checkpoints under autograd.grad
        pool = random_tensors(choose, OPERATIONS, 20)
    graph, stored = recorded(tmp_path, program)
    found = execute(graph, stored)
    assert [one for one in found.outcomes if one.status is not NodeStatus.EQUAL] == []
    assert found.first is None


@needs_saved_tensors
def test_another_memory_is_named_where_it_first_shows(small: Recorded) -> None:
    graph, stored = small
    saved = next(tensor for tensor in stored.tensors if name(graph, tensor.node) == "TanhBackward0")
    data = bytearray(stored.storages[saved.storage])
    data[0] ^= 1
    found = execute(graph, replace(stored, storages={**stored.storages, saved.storage: bytes(data)}))
    assert found.first is not None
    assert name(graph, found.first.node) == "TanhBackward0" or found.first.operator is not None
    assert found.first.again is True
    equal = [name(graph, one.node) for one in found.outcomes if one.status is NodeStatus.EQUAL]
    assert "PowBackward0" in equal


def test_a_result_that_changes_from_run_to_run_is_told_apart(small: Recorded) -> None:
    graph, stored = small
    node = next(node.id for node in graph.nodes if node.name == "TanhBackward0")
    random_call = Dispatch(0, node, Phase.INSIDE, "aten.rand.default", ((100,),), {}, None, noise(stored))
    calls = tuple(random_call if call.node == node else call for call in stored.dispatches)
    found = execute(graph, replace(stored, dispatches=calls))
    assert found.first is not None
    assert (found.first.node, found.first.again) == (node, False)


def noise(stored: StoredBackward) -> Place:
    return Place(10_000, 0, TensorType((100,), "float32"), (1,), digest="0" * 16)


def test_what_was_not_stored_is_said(small: Recorded) -> None:
    graph, stored = small
    found = execute(graph, replace(stored, storages={}))
    assert found.count(NodeStatus.EQUAL) == 0 or found.count(NodeStatus.NOT_REPEATED) > 0
    assert "not stored" in next(one.detail for one in found.outcomes if one.status is NodeStatus.NOT_REPEATED)


def test_sparse_gradients_cannot_be_repeated(tmp_path: Path) -> None:
    table = torch.nn.Embedding(4, 2, sparse=True)
    graph, stored = recorded(tmp_path, lambda: table(torch.tensor([1])).sum().backward())
    found = execute(graph, stored)
    assert "no plain memory" in next(one.detail for one in found.outcomes if one.status is NodeStatus.NOT_REPEATED)


@pytest.mark.parametrize(
    ("operator", "arguments", "reason"),
    [
        ("aten.from_file.default", ("/nowhere", True, 8), "opens a file"),
        ("os.system.default", ("true",), "no such operator"),
        ("cond", (), "higher-order"),
        ("aten.neg.default", (Place(0, 10**12, TensorType((4,), "float32"), (1,)),), "outside of its memory"),
        ("aten.neg.default", (Place(0, 0, TensorType((4,), "Tensor"), (1,)),), "no dtype"),
        ("aten.neg.default", ("text",), "raised"),
    ],
)
def test_a_recording_is_not_trusted(small: Recorded, operator: str, arguments: tuple[Any, ...], reason: str) -> None:
    graph, stored = small
    bad = replace(stored.dispatches[0], operator=operator, arguments=arguments)
    found = execute(graph, replace(stored, dispatches=(bad, *stored.dispatches[1:])))
    assert reason in next(one.detail for one in found.outcomes if one.operator == operator)


def test_torch_is_left_as_it_was(small: Recorded) -> None:
    graph, stored = small
    before = switches()
    execute(
        graph,
        replace(
            stored, conditions={"threads": 3, "default_dtype": "int8", "deterministic": True, "matmul_precision": "?"}
        ),
    )
    assert switches() == before
    assert not torch.are_deterministic_algorithms_enabled()


def switches() -> tuple[object, ...]:
    state = torch.get_rng_state().tolist()
    return torch.get_num_threads(), torch.is_grad_enabled(), torch.get_default_dtype(), state


@pytest.mark.parametrize("seed", range(25))
def test_another_order_gives_what_the_engine_gives_in_that_order(seed: int, tmp_path: Path) -> None:
    """The same program once as it is and once with `_set_sequence_nr`: the nodes whose results differ are foretold."""

    def program(numbers: dict[int, int]) -> None:
        torch.manual_seed(seed)
        output = random_tensors(random.Random(seed), OPERATIONS[:10], 20)[-1].sum()
        live = live_graph([output])
        for number, priority in numbers.items():
            live.nodes[number]._set_sequence_nr(priority)  # type: ignore[attr-defined]
        output.backward()

    graph, stored = recorded(tmp_path, lambda: program({}))
    choose = random.Random(seed)
    numbers = {node: 10**9 + choose.randrange(10**6) for node in choose.sample(range(len(graph.nodes)), 4)}
    changed, stored_changed = recorded(tmp_path, lambda: program(numbers))
    priorities = {node.id: node.seq_nr for node in changed.nodes if (node.seq_nr or 0) >= 10**9 and node.seq_nr}
    assert len(priorities) == 4
    order = predict(with_priorities(graph, priorities)).order
    assert order == tuple(each.node for each in stored_changed.exchanges)
    found = execute(graph, stored, order)
    differ = {one.node for one in found.outcomes if one.status is NodeStatus.DIFFERS}
    plain, other = passed(stored), passed(stored_changed)
    assert all((plain[node] == other[node]) for node in plain if node not in differ)
    assert {node for node in plain if plain[node] != other[node]} <= differ
    assert all(one.status is not NodeStatus.NOT_REPEATED for one in found.outcomes)


def passed(stored: StoredBackward) -> dict[int, list[str | None]]:
    return {each.node: [None if place is None else place.digest for place in each.passed] for each in stored.exchanges}


def test_an_order_that_adds_otherwise_is_named(tmp_path: Path) -> None:
    def program() -> None:
        x = torch.tensor([1.0], requires_grad=True)
        y = x * 1
        (y * 1e8 + y * -1e8 + y * 1e-3).backward()

    graph, stored = recorded(tmp_path, program)
    small = max((node for node in graph.nodes if node.name == "MulBackward0"), key=lambda node: node.seq_nr or 0)
    order = predict(with_priorities(graph, {small.id: 0})).order
    found = execute(graph, stored, order)
    assert found.first is not None
    assert "another order" in found.first.detail
    assert not found.recorded_order


def test_sums_that_are_not_understood_are_said(tmp_path: Path) -> None:
    graph, stored = recorded(tmp_path, lambda: both().backward())
    calls = tuple(call for call in stored.dispatches if call.phase is not Phase.AFTER)
    with pytest.raises(NothingCheckedError, match="additions"):
        execute(graph, replace(stored, dispatches=calls), tuple(reversed([each.node for each in stored.exchanges])))


def both() -> torch.Tensor:
    y = torch.ones(2, requires_grad=True).exp()
    return (y * 2 + y * 3).sum()


def test_a_node_without_operators_has_no_script(small: Recorded) -> None:
    graph, stored = small
    with pytest.raises(NothingCheckedError):
        extract(graph.nodes[0], replace(stored, dispatches=()), "t", "t.bin", "2.13")


def test_a_script_cannot_be_made_to_hold_code(small: Recorded) -> None:
    graph, stored = small
    first = stored.dispatches[0]
    for bad in (
        replace(first, keywords={"a=print(1)": 1}),
        replace(first, arguments=(Place(0, 0, TensorType((1,), "float32+print(1)"), (1,)),)),
        replace(first, operator="aten.mm.default(print(1))"),
    ):
        with pytest.raises(NothingCheckedError):
            extract(graph.nodes[first.node or 0], replace(stored, dispatches=(bad,)), "t", "t.bin", "2.13")
    title = '"""\nprint(1)\n"""'
    script = extract(graph.nodes[first.node or 0], stored, title, "t.bin", "2.13").script
    assert script.count('"""') % 2 == 0
    compile(script, "t.py", "exec")


def test_what_a_node_passes_on_counts_too(small: Recorded) -> None:
    graph, stored = small
    exchanges = list(stored.exchanges)
    place = next(place for place in exchanges[1].passed if place is not None)
    exchanges[1] = replace(exchanges[1], passed=(replace(place, digest="0" * 16), *exchanges[1].passed[1:]))
    found = execute(graph, replace(stored, exchanges=tuple(exchanges)))
    assert found.first is not None
    assert (found.first.node, found.first.operator) == (exchanges[1].node, None)
    assert found.count(NodeStatus.DIFFERS) == 1


class Numpy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(gradient.numpy() * 2)


def test_what_no_operator_made_is_not_called_repeated(tmp_path: Path) -> None:
    apply: Any = Numpy.apply
    graph, stored = recorded(tmp_path, lambda: apply(torch.ones(2, requires_grad=True).exp()).sum().backward())
    unseen = [one for one in execute(graph, stored).outcomes if one.status is NodeStatus.NOT_REPEATED]
    assert [(name(graph, one.node), one.operator) for one in unseen] == [("NumpyBackward", None)]
