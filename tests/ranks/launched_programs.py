"""Replicas, shards, tensor parallel layers and a pipeline, one after the other, as a launcher starts them on any number
of ranks. Each rank writes the last bit of what it computed into a file."""

from pathlib import Path

import torch
import torch.distributed as dist
from group_programs import model, pipeline, train
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel as Replicated


def replicated(rank, world):
    net = Replicated(model())
    train(net, rank)
    return net.parameters()


def sharded(rank, world):
    net = model()
    fully_shard(net)
    train(net, rank)
    return [parameter.to_local() for parameter in net.parameters()]


def tensor_parallel(rank, world):
    mesh = init_device_mesh("cpu", (world,))
    net = parallelize_module(model(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    train(net, 0)  # all ranks see the same data
    return [one.to_local() if hasattr(one, "to_local") else one for one in net.parameters()]


def staged(rank, world):
    return [one.grad for one in pipeline(rank, world).parameters()]


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    with Path(f"rank{rank}.txt").open("w", encoding="utf-8") as stream:
        for found in (replicated, sharded, tensor_parallel, staged):
            for tensor in found(rank, world):
                print(found.__name__, tensor.detach().flatten().view(torch.uint8).tolist(), file=stream)
    if rank == 0:
        print(f"{world} ranks")
    dist.destroy_process_group()
