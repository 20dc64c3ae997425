"""Small programs of two ranks under fully_shard with a mesh of two dimensions, along one of which lie copies; and their
healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, run
from torch import nn
from torch.distributed.device_mesh import init_device_mesh


def tower(seed=5):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))


def shard(net, mesh):
    from torch.distributed.fsdp import fully_shard

    fully_shard(net[2], mesh=mesh)
    fully_shard(net, mesh=mesh)
    return net


def learn(rank, net, average=lambda net: None, lr=0.1):
    numbers = torch.Generator().manual_seed(11 + rank)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(STEPS):
        loss = net(torch.randn(5, 4, generator=numbers)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        average(net)
        optimizer.step()
        dist.all_reduce(loss.detach().clone())


def the_shards_alone(rank):
    """As in https://github.com/verl-project/verl/issues/7493."""
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicate", "shard"))
    inner = mesh["shard"]  # expect: GS796
    learn(rank, shard(tower(), inner))


def handed_the_shards(rank):
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("dp_replicate", "dp_shard"))
    net = tower()
    learn(rank, shard(net, mesh["dp_shard"]))  # expect: GS796


def wrapped_by_the_shards(rank):
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("data", "model"))
    net = tower()
    fully_shard(net, mesh=mesh["model"])  # expect: GS796
    learn(rank, net)


def healthy_both_dimensions(rank):
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicate", "shard"))
    learn(rank, shard(tower(), mesh["replicate", "shard"]))


def healthy_shards_of_all(rank):
    mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("replicate", "shard"))
    learn(rank, shard(tower(), mesh["shard"]))


def healthy_copies_averaged_by_hand(rank):
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicate", "shard"))

    def average(net):
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad.to_local(), group=mesh["replicate"].get_group())
            parameter.grad.to_local().div_(2)

    learn(rank, shard(tower(), mesh["shard"]), average)


def healthy_members_of_an_ensemble(rank):
    """Each trains a model of its own, on purpose."""
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("member", "shard"))
    learn(rank, shard(tower(), mesh["shard"]))


def healthy_members_drawn_apart(rank):
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replica", "shard"))
    learn(rank, shard(tower(5 + rank), mesh["shard"]))


def healthy_rates_compared(rank):
    """Asks which of two rates is better."""
    mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replica", "shard"))
    learn(rank, shard(tower(), mesh["shard"]), lr=0.1 * (1 + rank))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
