"""What collectives are given is recorded: their group, place in it, tensors, peer, and where they were waited for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import nn

import gradscope
from gradscope.model.averaging import Averaging
from gradscope.model.rank import Collective, ProcessGroup
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gather import gather
from gradscope.store.averaging_reader import read_averaging, read_reducers
from gradscope.store.collective_reader import read_process_groups, user_sites

if not torch.distributed.is_available():
    pytest.skip("needs torch.distributed", allow_module_level=True)

import torch.distributed as dist
from torch.distributed._functional_collectives import all_reduce
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore

WORLD, RANK = 1024, 5


@contextmanager
def ranks_that_are_not_there() -> Iterator[None]:
    """A world of 1,024 in one process: torch's fake backend answers for the others."""
    dist.init_process_group("fake", store=FakeStore(), rank=RANK, world_size=WORLD)
    try:
        yield
    finally:
        dist.destroy_process_group()


@pytest.fixture
def world() -> Iterator[None]:
    with ranks_that_are_not_there():
        yield


def entered(path: Path) -> list[Collective]:
    ranks = gather([path])
    (sequence,) = ranks.sequences.values()
    return [ranks.collectives[one] for one in sequence]


def averaging(path: Path) -> Averaging:
    with gradscope.load(path) as recording:
        rows, interned = recording.tables.rows, recording.tables.interned
        reducers = read_reducers(rows)
        sites = user_sites(rows, interned, [stack for _, stack in reducers])
        return read_averaging(rows, interned, reducers, read_process_groups(rows, interned), sites)


def group_of(one: Collective) -> ProcessGroup:
    assert one.group is not None
    return one.group


def test_the_group_the_tensor_and_whether_it_is_waited_for_are_known(world: None, tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        dist.all_reduce(torch.ones(2, 3))
        dist.all_reduce(torch.ones(2, 3), async_op=True)
    one, other = entered(tmp_path / "run.gscope")
    assert (one.operator, one.tensors, one.size) == ("c10d.allreduce_.default", "float32[2, 3]", 24)
    assert (group_of(one).backend, group_of(one).members) == ("fake", tuple(range(WORLD)))
    assert [one.asynchronous, other.asynchronous] == [False, True]
    assert [each.site is not None and each.site.file for each in (one, other)] == [__file__] * 2


def test_peers_are_ranks_of_the_world(world: None, tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        group = dist.new_group([3, RANK, 9])
        dist.broadcast(torch.ones(1), src=9, group=group)
        dist.send(torch.ones(1, dtype=torch.float64), 3, group=group)
    broadcast, send = entered(tmp_path / "run.gscope")
    assert (broadcast.peer, group_of(broadcast).members) == (9, (3, RANK, 9))
    assert (send.peer, send.tensors, send.between_two, broadcast.between_two) == (3, "float64[1]", True, False)


def test_each_group_counts_its_own(world: None, tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        group = dist.new_group([RANK, 7])
        for one in (None, group, None, group, None):
            dist.all_reduce(torch.ones(1), group=one)
            dist.send(torch.ones(1), 7)
        last = gather_last(group)
    found = gather([tmp_path / "run.gscope"]).ranks[0].collective
    assert found is not None
    assert (found.sequence, group_of(found).members) == last


def gather_last(group: dist.ProcessGroup) -> tuple[int, tuple[int, ...]]:
    """Enter one more, the third of its group."""
    dist.all_reduce(torch.ones(1), group=group)
    return 2, (RANK, 7)


def test_once_a_step_is_left_out_places_are_not_known(world: None, tmp_path: Path) -> None:
    weight = nn.Parameter(torch.ones(1))
    with gradscope.record(tmp_path / "run.gscope", steps="1:"):
        for _ in range(3):
            weight.sum().backward()
            dist.all_reduce(torch.ones(1))
    found = gather([tmp_path / "run.gscope"]).ranks[0].collective
    assert found is not None
    assert found.sequence is None


def test_where_a_result_is_waited_for_is_known(world: None, tmp_path: Path) -> None:
    with gradscope.record(tmp_path / "run.gscope"):
        total = all_reduce(torch.ones(4), "sum", dist.group.WORLD)
        float(total.sum())
    found = gather([tmp_path / "run.gscope"]).ranks[0].collective
    assert found is not None
    assert found.site is not None
    assert found.waited is not None
    assert found.waited.line == found.site.line + 1


def test_a_gradient_that_is_reduced_is_known(world: None, tmp_path: Path) -> None:
    net = nn.Linear(2, 2)
    with gradscope.record(tmp_path / "run.gscope"):
        net(torch.ones(1, 2)).sum().backward()
        assert net.weight.grad is not None
        dist.all_reduce(net.weight.grad)
        dist.all_reduce(torch.ones(2))
    assert [(one.leaf, one.group[1]) for one in averaging(tmp_path / "run.gscope").by_hand] == [
        ("weight", tuple(range(WORLD)))
    ]


def test_what_stands_where_a_gradient_stood_is_none(world: None, tmp_path: Path) -> None:
    net = nn.Linear(2, 2, bias=False)
    with gradscope.record(tmp_path / "run.gscope"):
        net(torch.ones(1, 2)).sum().backward()
        gradient, net.weight.grad = net.weight.grad, None
        assert gradient is not None
        dist.all_reduce(gradient)
    assert averaging(tmp_path / "run.gscope").by_hand == ()


def test_a_sharded_step_of_1024_ranks_is_recorded(world: None, tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(2048, 4), nn.Tanh(), nn.Linear(4, 4))
    with gradscope.record(tmp_path / "run.gscope"):
        fully_shard(net)
        net(torch.ones(1, 2048)).sum().backward()
    names = [one.name for one in entered(tmp_path / "run.gscope")]
    assert "allgather_base" in names
    assert names[-1] == "reduce_scatter_base"
    assert gradscope_is_quiet(tmp_path / "run.gscope")


def gradscope_is_quiet(path: Path) -> bool:
    with gradscope.load(path) as recording:
        return not recording.faults()


def test_recordings_of_many_ranks_are_joined_by_rank(tmp_path: Path) -> None:
    for number in range(3):
        with gradscope.record(tmp_path / f"run.r{number:05d}-of-00003.1.gscope"), ranks_that_are_not_there():
            dist.all_reduce(torch.ones(1))
    found: Ranks = gather(sorted(tmp_path.glob("*.gscope")))
    assert [one.rank for one in found.ranks] == [0, 1, 2]
    assert len({id(one) for one in found.sequences.values()}) == 1  # what is equal is kept once
