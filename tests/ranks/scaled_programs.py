"""Small programs of two ranks whose gradients become too small: shards that each rank scales by a norm of its own, a
loss that is averaged over the ranks before the wrapper averages too; and their healthy twins. They run as those of
`group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, model, run
from sharded_programs import sharded
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

BOUND = 0.05


def shards_of(net):
    return [parameter.grad.to_local() for parameter in net.parameters()]


def scaling(rank, scale):
    net = sharded()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        scale(net)
        optimizer.step()


def scaled_by_its_own_norm(rank):
    """As in https://github.com/sgl-project/SpecForge/pull/663."""

    def scale(net):
        total = torch.zeros(())
        for shard in shards_of(net):
            total += (shard * shard).sum()  # expect: GS784
        for shard in shards_of(net):
            shard.mul_(torch.clamp(BOUND / total.sqrt(), max=1.0))

    scaling(rank, scale)


def scaled_by_a_norm_of_norms(rank):
    def scale(net):
        shards = shards_of(net)
        norms = torch._foreach_norm(shards)
        norm = torch.linalg.vector_norm(torch.stack(norms))  # expect: GS784
        torch._foreach_div_(shards, torch.clamp(norm / BOUND, min=1.0))

    scaling(rank, scale)


def healthy_scaled_by_the_norm_of_all(rank):
    def scale(net):
        shards = shards_of(net)
        total = torch.stack([shard.square().sum() for shard in shards]).sum()
        dist.all_reduce(total)
        torch._foreach_mul_(shards, torch.clamp(BOUND / total.sqrt(), max=1.0))

    scaling(rank, scale)


def healthy_scaled_by_what_came_back(rank):
    """Puts the sum of all where that of its own was."""

    def scale(net):
        shards = shards_of(net)
        total = torch.stack([shard.square().sum() for shard in shards]).sum()
        of_all = total.clone()
        dist.all_reduce(of_all)
        total.copy_(of_all)
        for shard in shards:
            shard.mul_(torch.clamp(BOUND / total.sqrt(), max=1.0))

    scaling(rank, scale)


def healthy_each_shard_by_itself(rank):
    """Gives each shard a length of its own, as some optimizers do on purpose."""

    def scale(net):
        for shard in shards_of(net):
            shard.div_(shard.norm() + 1.0)

    scaling(rank, scale)


def healthy_shards_by_their_moments(rank):
    """Divides by roots of squares, one for each number."""
    moments = {}

    def scale(net):
        shards = shards_of(net)
        squares = torch._foreach_mul(shards, shards)
        for at, square in enumerate(squares):
            moments[at] = 0.9 * moments.get(at, torch.zeros_like(square)) + 0.1 * square
        roots = torch._foreach_sqrt(list(moments.values()))
        torch._foreach_add_(roots, 1e-3)
        torch._foreach_div_(shards, roots)

    scaling(rank, scale)


def healthy_asks_for_its_own_norm(rank):
    """Shows the norm of its shards, and scales by a number."""

    def scale(net):
        shards = shards_of(net)
        assert torch.stack([shard.norm() for shard in shards]).norm() > 0
        torch._foreach_mul_(shards, 0.5)

    scaling(rank, scale)


def replicated(rank, loss_of, after=lambda net: None):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(net(data(rank, step)).square().mean())
        loss.backward()
        after(net)
        optimizer.step()


def mean_in_place(loss):
    of_all = loss.clone()
    dist.all_reduce(of_all.detach())
    of_all /= dist.get_world_size()
    return of_all


def averaged_before_its_backward(rank):
    """As in https://github.com/NVIDIA/apex/issues/664."""
    net = Replicated(model())
    for step in range(STEPS):
        loss = mean_in_place(net(data(rank, step)).square().mean())  # expect: GS767
        loss.backward()


def averaged_in_the_loop(rank):
    world_size = dist.get_world_size()
    net = Replicated(model())
    for step in range(STEPS):
        loss = net(data(rank, step)).abs().mean()
        dist.all_reduce(loss.data)
        loss = loss.div(world_size)  # expect: GS767
        loss.backward()


def healthy_averaged_to_be_shown(rank):
    def shown(loss):
        mean_in_place(loss.detach())
        return loss

    replicated(rank, shown)


def healthy_averaged_by_autograd(rank):
    """What sums meets again in the backward, and sums the gradients there."""
    from torch.distributed.nn.functional import all_reduce

    replicated(rank, lambda loss: all_reduce(loss) / dist.get_world_size())


def healthy_parts_of_a_batch(rank):
    """Divides its own loss by as many parts as there are ranks."""

    def divided(loss):
        dist.all_reduce(loss.detach().clone())
        return loss / 2

    replicated(rank, divided)


def healthy_multiplied_again(rank):
    replicated(rank, lambda loss: mean_in_place(loss) * dist.get_world_size())


def healthy_gradients_multiplied(rank):
    def after(net):
        for parameter in net.parameters():
            parameter.grad.mul_(dist.get_world_size())

    replicated(rank, mean_in_place, after=after)


def sum_over_ranks(value):
    value = value.clone()
    dist.all_reduce(value)
    return value


def loss_of_each_value(total, values):
    count = (values < 9).sum()
    return total * dist.get_world_size() / sum_over_ranks(count)


def healthy_divided_by_the_count_of_all(rank):
    """Divides by how many values all ranks have, and takes back what the wrapper divides by."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    share = 4 // dist.get_world_size()
    for step in range(STEPS):
        optimizer.zero_grad()
        values = net(data(rank, step)[: share + rank])
        loss = loss_of_each_value(values.square().sum(), values)
        loss.backward()
        optimizer.step()


def healthy_frozen_losses(rank):
    """Divides another tensor that all had summed: a weight."""
    weight = nn.Parameter(torch.ones(()), requires_grad=False)

    def weighed(loss):
        of_all = weight.clone()
        dist.all_reduce(of_all)
        return loss * (of_all / dist.get_world_size())

    replicated(rank, weighed)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
