"""Small programs of two ranks under fully_shard, with an optimizer that holds what was gathered or each rank's part.

Others leave a sharded part out on one rank. They run as those of `group_programs.py` do."""

import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from group_programs import PATIENCE, STEPS, chosen, data, run
from torch import nn


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.block, self.last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.block(torch.tanh(self.first(x)))))


def parted(net):
    from torch.distributed.fsdp import fully_shard

    fully_shard(net.block)
    fully_shard(net)
    return net


def sharded():
    return parted(Layers())


def optimizer_of(net):
    return torch.optim.AdamW(net.parameters(), lr=0.01)


def loop(net, optimizer, rank):
    for step in range(STEPS):
        out = net(data(rank, step))
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()


def made_after_an_example(rank):
    net = sharded()
    with torch.no_grad():
        net(data(rank, 0))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)  # expect: GS788
    loop(net, optimizer, rank)


def made_after_unshard(rank):
    net = sharded()
    net.unshard()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)  # expect: GS788
    loop(net, optimizer, rank)


def made_after_a_loss(rank):
    net = sharded()
    net(data(rank, 0)).square().mean()
    groups = [{"params": [one for one in net.parameters() if one.ndim == ndim]} for ndim in (1, 2)]
    loop(net, torch.optim.Adam(groups, lr=0.01), rank)  # expect: GS788


def made_before_it_is_parted(rank):
    net = Layers()
    optimizer = optimizer_of(net)  # expect: GS788
    loop(parted(net), optimizer, rank)


def healthy_given_the_parts(rank):
    """Makes its optimizer early, and gives it the parts that have come in the place of its parameters."""
    net = Layers()
    optimizer = optimizer_of(net)
    optimizer.param_groups[0]["params"] = [*parted(net).parameters()]
    loop(net, optimizer, rank)


def healthy_made_before(rank):
    net = sharded()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    with torch.no_grad():
        net(data(rank, 0))
    loop(net, optimizer, rank)


def healthy_made_after_reshard(rank):
    net = sharded()
    with torch.no_grad():
        net(data(rank, 0))
    net.reshard()
    loop(net, torch.optim.AdamW(net.parameters(), lr=0.01), rank)


def healthy_made_after_a_backward(rank):
    net = sharded()
    net(data(rank, 0)).square().mean().backward()
    loop(net, torch.optim.AdamW(net.parameters(), lr=0.01), rank)


class Tower(nn.Module):
    """Two parts, of which one is for some batches; `part` is its forward."""

    def __init__(self, part):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.tower, self.part = nn.Linear(4, 4), nn.Linear(4, 4), part

    def forward(self, x, images):
        return self.part(self, x, images)


def with_a_tower(rank, part):
    """Steps of a model whose tower meets in a group of its own, of which rank 1 has no images in step 3."""
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    own = [dist.new_group([0, 1], timeout=timedelta(seconds=PATIENCE)) for _ in range(2)]
    first, second = (DeviceMesh.from_group(one, "cpu") for one in own)
    net = Tower(part)
    fully_shard(net.tower, mesh=first)
    fully_shard(net.body, mesh=second)
    fully_shard(net, mesh=second)
    for step in range(STEPS):
        images = None if rank == 1 and step == 3 else data(rank, step)
        net(data(rank, step), images).square().mean().backward()


def tower_without_images(rank):
    def part(net, x, images):
        if images is not None:  # expect: GS790
            x = x + net.tower(images)
        return net.body(x.tanh())

    with_a_tower(rank, part)


def tower_for_some(rank):
    def part(net, x, images):
        if images is None:  # expect: GS790
            return net.body(x.tanh())
        x = x + net.tower(images)
        return net.body(x.tanh())

    with_a_tower(rank, part)


def tower_on_the_main_rank(rank):
    def part(net, x, images):
        if rank == 0:
            x = x + net.tower(x)  # expect: GS790
        return net.body(x)

    with_a_tower(rank, part)


def healthy_tower_times_zero(rank):
    def part(net, x, images):
        x = x + net.tower(x if images is None else images) * (images is not None)
        return net.body(x.tanh())

    with_a_tower(rank, part)


def healthy_tower_in_no_step(rank):
    with_a_tower(rank, lambda net, x, images: net.body(x))


def local_gradients(net):
    parts = [parameter.to_local().detach() for parameter in net.parameters()]
    for part, parameter in zip(parts, net.parameters(), strict=True):
        part.grad = parameter.grad.to_local()
    return parts


def clipping(rank, clip):
    net = sharded()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        clip(net)
        optimizer.step()


def clipped_by_its_own_norm(rank):
    def clip(net):
        parts = local_gradients(net)
        nn.utils.clip_grad_norm_(parts, 0.1)  # expect: GS784

    clipping(rank, clip)


def healthy_clipped_by_the_norm_of_all(rank):
    clipping(rank, lambda net: nn.utils.clip_grad_norm_(net.parameters(), 0.1))


def healthy_clipped_by_hand(rank):
    """Asks for the norm of its parts, which is not yet that of all."""

    def clip(net):
        parts = local_gradients(net)
        total = nn.utils.clip_grad_norm_(parts, torch.inf).square()
        dist.all_reduce(total)
        nn.utils.clip_grads_with_norm_(parts, 0.1, total.sqrt())

    clipping(rank, clip)


def healthy_clipped_put_together(rank):
    """What it clips is taken from local tensors, and has been made a DTensor again."""
    from torch.distributed.tensor import DTensor

    def again(one):
        local = one.to_local().detach()
        return DTensor.from_local(local, one.device_mesh, one.placements, shape=one.shape, stride=one.stride())

    def clip(net):
        parts = [again(parameter) for parameter in net.parameters()]
        for part, parameter in zip(parts, net.parameters(), strict=True):
            part.grad = parameter.grad
        nn.utils.clip_grad_norm_(parts, 0.1)

    clipping(rank, clip)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
