"""Small programs of four ranks, run as those of `group_programs.py` are: with subgroups, meshes, pipelines."""

import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from group_programs import PATIENCE, STEPS, data, model, pipeline, run, train
from replica_programs import loop
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

WORLD = 4


def pairs(*members):
    """The group of this rank among some, all of which every rank makes."""
    made = [dist.new_group(list(one), timeout=timedelta(seconds=PATIENCE)) for one in members]
    return next(group for group, one in zip(made, members, strict=True) if dist.get_rank() in one)


def one_more_in_a_pair(rank):
    pair = pairs((0, 1), (2, 3))

    def meet(net, step):
        dist.all_reduce(torch.ones(1), group=pair)
        if rank == 2 and step == 1:
            dist.all_reduce(torch.ones(1), group=pair)  # expect: GS790

    train(model(), rank, before=meet)


def raises_in_a_pair(rank):
    pair = pairs((0, 1), (2, 3))

    def meet(net, step):
        if rank == 3 and step == 2:
            raise ValueError("bad sample")  # expect: GS791
        dist.all_reduce(torch.ones(1), group=pair)

    train(model(), rank, before=meet)
    dist.barrier()


def stage_raises(rank):
    """A pipeline of four: those behind the stage that raises wait for what never comes."""
    x = torch.ones(2, 4)
    for step in range(3):
        if rank > 0:
            dist.recv(x, rank - 1)
        if rank == 1 and step == 1:
            raise ValueError("bad microbatch")  # expect: GS791
        if rank < WORLD - 1:
            dist.send(x, rank + 1)


def two_see_the_same(rank):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    batches = [data(1 if rank == 3 else rank, step) for step in range(STEPS)]  # expect: GS794
    for x in batches:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()


def one_steps_otherwise(rank):
    net = Replicated(model())
    loop(net, torch.optim.SGD(net.parameters(), lr=0.2 if rank == 2 else 0.1), rank)  # expect: GS792


def healthy_mesh(rank):
    """Two by two: ranks of a tensor-parallel pair see the same data, replicas across pairs do not."""
    tensor, replica = pairs((0, 1), (2, 3)), pairs((0, 2), (1, 3))
    part = Replicated(model(seed=rank % 2), process_group=replica)
    optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        out = part(data(rank // 2, step))
        whole = out.detach().clone()
        dist.all_reduce(whole, group=tensor)
        whole.add(out - out.detach()).square().mean().backward()
        optimizer.step()


def healthy_experts(rank):
    """A part that all ranks share, and one for each pair of them, each in a wrapper of its own."""
    shared = Replicated(model())
    expert = Replicated(nn.Linear(1, 1), process_group=pairs((0, 1), (2, 3)))
    optimizer = torch.optim.SGD([*shared.parameters(), *expert.parameters()], lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        expert(shared(data(rank, step))).square().mean().backward()
        optimizer.step()


def healthy_pipeline(rank):
    pipeline(rank, WORLD)


def healthy_fsdp(rank):
    from torch.distributed.fsdp import fully_shard

    net = model()
    for layer in (net[0], net[2], net):
        fully_shard(layer)
    train(net, rank)


def healthy_one_writes(rank):
    """A rank does more than the others, all of it by itself; half of them meet once more."""
    train(Replicated(model()), rank)
    pair = pairs((0, 1), (2, 3))
    if rank == 0:
        train(model(), rank)
    if rank < 2:
        dist.all_reduce(torch.ones(1), group=pair)
    dist.barrier()


def healthy_tensor_parallel(rank):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    net = model()
    mesh = init_device_mesh("cpu", (WORLD,))
    train(parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}), 0)


PROGRAMS = [
    *(one_more_in_a_pair, raises_in_a_pair, stage_raises, two_see_the_same, one_steps_otherwise),
    *(healthy_mesh, healthy_experts, healthy_pipeline, healthy_fsdp, healthy_one_writes, healthy_tensor_parallel),
]

if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), PROGRAMS, WORLD)
