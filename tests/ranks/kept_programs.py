"""Programs of two ranks that keep buffers equal by hand, most without a wrapper, and their healthy twins. They run as
those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, data, run
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

STEPS = 11


def mean_of_all(value):
    total = value.detach().clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


def rows_of_all(rows):
    found = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(found, rows)
    return torch.cat(found)


class Nests(nn.Module):
    """Weights of eggs, beside levels that are kept of them."""

    def __init__(self, *layers):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(4, 6), *layers, nn.Tanh(), nn.Linear(6, 1))
        self.register_buffer("level", torch.zeros(6, 4))
        self.register_buffer("weighed", torch.zeros(6))

    def forward(self, eggs):
        return self.body(eggs)

    @torch.no_grad()
    def keep(self, eggs):
        total, many = eggs[:6].abs(), eggs.abs().sum().expand(6).clone()
        dist.all_reduce(total)
        dist.all_reduce(many)
        self.level.lerp_(total, 0.2)
        self.weighed.lerp_(many, 0.2)


def by_gradient(net):
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= 2


def all_at_once(net):
    """Through copies, of which nobody knows that gradients are in them."""
    parameters = list(net.parameters())
    flat = mean_of_all(torch.cat([one.grad.reshape(-1) for one in parameters]))
    for one, part in zip(parameters, flat.split([one.numel() for one in parameters]), strict=True):
        one.grad.copy_(part.view_as(one))


def weigh(rank, net, each, average=by_gradient):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        torch.manual_seed(100 * rank + step)
        eggs = torch.randn(8, 4) + rank
        each(net, eggs, step)
        optimizer.zero_grad()
        net(eggs).square().mean().backward()
        average(net)
        optimizer.step()


def starts_again_from_its_own_rows(rank):
    """As in https://github.com/lucidrains/vector-quantize-pytorch/pull/17."""

    def each(net, eggs, step):
        net.keep(eggs)
        if step == 6:
            few = net.weighed > 0
            rows = eggs  # expect: GS797
            net.level[few] = rows[:6][few]

    weigh(rank, Nests(), each)


def replaces_a_level_at_last(rank):
    def each(net, eggs, step):
        if step < 5:
            net.keep(eggs)
        else:
            own = eggs.mean(0)
            net.level.copy_(own.expand(6, 4))  # expect: GS797

    weigh(rank, Nests(), each, all_at_once)


class Trimmed(Nests):
    @torch.no_grad()
    def trim(self, eggs):
        least = eggs.abs().amin(0)
        self.level.clamp_(min=least)  # expect: GS797 in trims_by_its_own_least


def trims_by_its_own_least(rank):
    def each(net, eggs, step):
        net.keep(eggs)
        if step == 7:
            net.trim(10 * eggs)

    weigh(rank, Trimmed(), each)


def healthy_starts_again_from_rows_of_all(rank):
    def each(net, eggs, step):
        net.keep(eggs)
        if step == 6:
            few = net.weighed > 0
            rows = rows_of_all(eggs)
            net.level[few] = rows[:6][few]

    weigh(rank, Nests(), each)


def healthy_level_of_each_rank(rank):
    """Beside statistics of each rank's own, as of BatchNorm."""

    def each(net, eggs, step):
        net.level.lerp_(eggs[:6], 0.2)

    weigh(rank, Nests(nn.BatchNorm1d(6)), each)


def healthy_level_of_each_rank_after_a_while(rank):
    """Nobody has kept it equal: it was as it was made."""

    def each(net, eggs, step):
        dist.all_reduce(torch.ones(1))
        if step > 5:
            net.level.lerp_(eggs[:6], 0.2)

    weigh(rank, Nests(), each)


def healthy_count_of_each_rank(rank):
    """The same for a while, for both have as many."""

    def each(net, eggs, step):
        dist.all_reduce(torch.ones(1))
        many = len(eggs) + (rank if step > 5 else 0)
        net.weighed.add_(many)

    weigh(rank, Nests(), each)


def healthy_brought_together_now_and_then(rank):
    def each(net, eggs, step):
        net.level.lerp_(eggs[:6], 0.2)
        if step % 4 == 0:
            net.level.copy_(mean_of_all(net.level))

    weigh(rank, Nests(), each)


def healthy_drawn_again_from_one_seed(rank):
    def each(net, eggs, step):
        net.keep(eggs)
        if step == 6:
            drawn = torch.randn(6, 4, generator=torch.Generator().manual_seed(3))
            net.level.copy_(drawn)

    weigh(rank, Nests(), each)


def wrapped_nests(rank, each):
    """Under a wrapper that leaves buffers alone."""
    net = Nests()
    wrapped = Replicated(net, broadcast_buffers=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        torch.manual_seed(100 * rank + step)
        eggs = torch.randn(8, 4) + rank
        with torch.no_grad():
            each(net, eggs, step)
        optimizer.zero_grad()
        wrapped(eggs).square().mean().backward()
        optimizer.step()


def starts_again_from_its_own_layer(rank):
    """Of what weights give, which a wrapper has sent to all ranks, each has its own."""

    def each(net, eggs, step):
        net.keep(eggs)
        few = net.weighed > 0
        if step == 6:
            net.level[few] = net.body[0](eggs)[:6, :4][few]  # expect: GS797

    wrapped_nests(rank, each)


def keeps_its_own_and_starts_again_from_all(rank):
    """Apart from the first step on: not what is put in later parts it."""

    def each(net, eggs, step):
        mean = eggs.mean(0)  # expect: GS797
        net.level.lerp_(mean, 0.2)
        if step == 6:
            net.level.copy_(rows_of_all(eggs)[:6])

    wrapped_nests(rank, each)


def healthy_starts_again_from_a_layer_of_rank_0(rank):
    def each(net, eggs, step):
        net.keep(eggs)
        few = net.weighed > 0
        if step == 6:
            rows = net.body[0](eggs)[:6, :4].contiguous()
            dist.broadcast(rows, src=0)
            net.level[few] = rows[few]

    wrapped_nests(rank, each)


def averaged(net, world=2):
    """As before each evaluation."""
    for name, buffer in net.named_buffers():
        if "running" in name:
            dist.all_reduce(buffer)
            buffer.div_(world)


def healthy_statistics_averaged_after_epochs(rank):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    wrapped = Replicated(net, broadcast_buffers=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(2 * STEPS):
        optimizer.zero_grad()
        wrapped(data(rank, step)).square().mean().backward()
        optimizer.step()
        if step % STEPS == STEPS - 1:
            averaged(net)


class Gates(nn.Module):
    """Samples go through one of three gates, of which each rank counts its own until all are told."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.ways = nn.Linear(4, 3)
        self.register_buffer("lean", torch.zeros(3))
        self.register_buffer("taken", torch.zeros(3))

    def forward(self, x):
        scores = self.ways(x).sigmoid()
        gate = (scores + self.lean).argmax(1)
        self.taken.index_add_(0, gate, torch.ones(len(gate)))
        return scores.gather(1, gate[:, None])


def counting(rank, counted):
    gates = Gates()
    wrapped = Replicated(gates, broadcast_buffers=False)
    optimizer = torch.optim.SGD(gates.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        wrapped(data(rank, step) + rank).square().mean().backward()
        optimizer.step()
        taken = counted(gates)
        gates.lean.add_(torch.sign(taken.mean() - taken), alpha=0.01)
        gates.taken.zero_()


def healthy_counts_are_summed_in_a_copy(rank):
    def counted(gates):
        taken = gates.taken.clone()
        dist.all_reduce(taken)
        return taken

    counting(rank, counted)


def healthy_counts_are_averaged_by_a_helper(rank):
    counting(rank, lambda gates: mean_of_all(gates.taken))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
