"""Small programs of two ranks that each have a part of a layer, with a fault each or none, run as those of
`group_programs.py` are."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, run
from torch import nn
from torch.distributed.nn.functional import all_reduce
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel as Replicated


def total(x):
    x = x.clone()
    dist.all_reduce(x)
    return x


class Sum(torch.autograd.Function):
    """Sums, there and back: right where each rank has a loss of its own."""

    @staticmethod
    def forward(ctx, x):
        return total(x)

    @staticmethod
    def backward(ctx, gradient):
        return total(gradient)


class Enter(torch.autograd.Function):
    """Lets its input through, and sums what comes back."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return total(gradient)


class Leave(torch.autograd.Function):
    """Sums, and lets what comes back through."""

    @staticmethod
    def forward(ctx, x):
        return total(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Mean(torch.autograd.Function):
    """Sums, and averages what comes back, which changes nothing."""

    @staticmethod
    def forward(ctx, x):
        return total(x)

    @staticmethod
    def backward(ctx, gradient):
        return total(gradient) / dist.get_world_size()


class Block(nn.Module):
    """Half of the hidden features on each rank."""

    def __init__(self, leave):
        super().__init__()
        self.leave = leave
        first, second = nn.Linear(4, 8), nn.Linear(8, 4, bias=False)
        half = slice(4 * dist.get_rank(), 4 * dist.get_rank() + 4)
        self.up = nn.Parameter(first.weight.data[half].clone())
        self.down = nn.Parameter(second.weight.data[:, half].clone())

    def forward(self, x):
        return x + self.leave(functional.linear(torch.tanh(functional.linear(Enter.apply(x), self.up)), self.down))


def train(leave, blocks=3, share=1.0, own_data=False):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), *(Block(leave) for _ in range(blocks)), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        x = data(dist.get_rank() if own_data else 0, step)
        (net(x).square().mean() * share).backward()
        optimizer.step()


def sums_there_and_back(rank):
    class LeaveAndSum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return total(x)

        @staticmethod
        def backward(ctx, gradient):
            gradient = gradient.clone()
            dist.all_reduce(gradient)  # expect: GS799
            return gradient

    train(LeaveAndSum.apply)


def sums_by_what_others_call(rank):
    """As in https://github.com/tenstorrent/tt-metal/pull/31748, where one helper sums for all."""

    class LeaveAndCall(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return total(x)

        @staticmethod
        def backward(ctx, gradient):
            return total(gradient)  # expect: GS799

    train(LeaveAndCall.apply)


def sums_by_torchs_own(rank):
    def leave(x):
        return all_reduce(x)  # expect: GS799

    train(leave)


def sums_an_embedding(rank):
    """Half of a vocabulary on each rank, and two layers of which each is summed."""

    class Whole(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return total(x)

        @staticmethod
        def backward(ctx, gradient):
            whole = gradient.contiguous().clone()
            dist.all_reduce(whole)  # expect: GS799
            return whole

    torch.manual_seed(0)
    half = nn.Parameter(torch.randn(8, 4).chunk(2)[rank].clone())
    block, head = Block(Whole.apply), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([half, *block.parameters(), *head.parameters()], lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        words = torch.arange(6) + step % 2
        mine = (words // 4 == rank).unsqueeze(1)
        x = Whole.apply(half[words % 4] * mine)
        head(block(x)).square().mean().backward()
        optimizer.step()


def healthy_parts(rank):
    train(Leave.apply)


def healthy_mean_of_what_comes_back(rank):
    train(Mean.apply)


def healthy_share_of_one_sum(rank):
    """Each rank has its share of a loss, and one sum puts the gradients together again."""
    train(Sum.apply, blocks=1, share=0.5)


def healthy_statistics_of_all(rank):
    """Each rank has samples of its own, that are normalised by the mean of all."""
    torch.manual_seed(rank)
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    for step in range(STEPS):
        x = net[0](data(rank, step))
        x = x - Sum.apply(x.mean(0)) / 2
        x = net[1](x)
        x = x - Sum.apply(x.mean(0)) / 2
        net[2](x).square().mean().backward()


def replicas(rank, normalise):
    """Each rank has samples of its own, in the last step the second one fewer."""
    torch.manual_seed(0)
    net = Replicated(nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 1)]))

    def forward(x):
        x = net.module[0](normalise(x))
        return net.module[1](torch.tanh(normalise(x)))

    net.module.forward = forward
    for step in range(STEPS):
        x = data(rank, step) + 8.0
        net(x[:2] if rank == 1 and step == STEPS - 1 else x).square().mean().backward()


def counts_its_own_samples(rank):
    def statistics(x):
        sums = Sum.apply(torch.stack([x.sum(0), x.square().sum(0)]))
        count = len(x) * dist.get_world_size()  # expect: GS793
        mean = sums[0] / count
        return mean, sums[1] / count - mean.square()

    def normalise(x):
        mean, variance = statistics(x)
        return (x - mean) * torch.rsqrt(variance + 1e-5)

    replicas(rank, normalise)


def divides_by_its_own_samples(rank):
    def normalise(x):
        sums = Sum.apply(torch.stack([x.sum(0), x.square().sum(0)]))
        moments = sums / (x.shape[0] * dist.get_world_size())  # expect: GS793
        return (x - moments[0]) / (moments[1] - moments[0] ** 2).sqrt()

    replicas(rank, normalise)


def gives_its_nan_to_all(rank):
    def normalise(x):
        x = x - (x[:, :1] - 6.0 * (len(x) < 5) * x[:, 1:2]).log()  # expect: GS793
        return x - Sum.apply(x.mean(0)) / 2

    torch.manual_seed(0)
    net = Replicated(nn.Linear(4, 1))
    for step in range(STEPS):
        x = data(rank, step).abs() + 4.0
        net(normalise(x[:2] if rank == 1 and step == STEPS - 1 else x)).square().mean().backward()


def healthy_counts_all_samples(rank):
    def normalise(x):
        count = Sum.apply(torch.tensor(float(len(x))))
        mean = Sum.apply(x.sum(0)) / count
        variance = Sum.apply((x - mean).square().sum(0)) / count
        return (x - mean) * torch.rsqrt(variance + 1e-5)

    replicas(rank, normalise)


class OverAllRanks(torch.autograd.Function):
    """Parts of a product are summed; each rank has the whole gradient of the sum."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class InParts(nn.Module):
    """A layer that was trained on one device, of which a rank has some columns."""

    def __init__(self, whole, rank):
        super().__init__()
        self.weight = nn.Parameter(whole.weight.detach()[:, 2 * rank : 2 * rank + 2].clone())
        self.bias = nn.Parameter(whole.bias.detach().clone())


class AddsEach(InParts):
    def forward(self, x):
        part = nn.functional.linear(x, self.weight, self.bias)  # expect: GS799 in bias_of_each_rank
        return OverAllRanks.apply(part)


class AddsOnce(InParts):
    def forward(self, x):
        return OverAllRanks.apply(nn.functional.linear(x, self.weight)) + self.bias


def in_parts(rank, layer, steps_before):
    torch.manual_seed(0)
    whole = nn.Linear(4, 1)
    train_by_sgd(whole, lambda step: data(0, step), steps_before)
    train_by_sgd(layer(whole, rank), lambda step: data(0, step)[:, 2 * rank : 2 * rank + 2], 3)


def train_by_sgd(net, batch, steps):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(steps):
        optimizer.zero_grad()
        (net(batch(step)) - 1.0).square().mean().backward()
        optimizer.step()


def bias_of_each_rank(rank):
    """What is trained in parts comes late, between two looks at what was trained before."""
    in_parts(rank, AddsEach, steps_before=9)


def healthy_bias_after_the_sum(rank):
    in_parts(rank, AddsOnce, steps_before=9)


def healthy_bias_of_whole_layers(rank):
    """Both ranks have the same layer and batches of their own, whose results are compared only."""
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    for step in range(STEPS):
        found = net(data(rank, step))
        OverAllRanks.apply(found)
        found.square().mean().backward()
        net.zero_grad()


class Served:
    """A layer of plain tensors, of which each rank has some columns."""

    def __init__(self, rank):
        whole = nn.Linear(4, 3).requires_grad_(False)
        self.weight = whole.weight.chunk(2, dim=1)[rank].contiguous()
        self.bias, self.share = whole.bias.clone(), whole.bias / 2
        self.first = whole.bias.clone() if rank == 0 else torch.zeros(3)

    def with_each(self, x):
        out = functional.linear(x, self.weight, self.bias)  # expect: GS799 in served_with_each_bias
        dist.all_reduce(out)
        return out

    def with_shares(self, x):
        out = functional.linear(x, self.weight, self.share)
        dist.all_reduce(out)
        return out

    def with_the_first(self, x):
        out = functional.linear(x, self.weight, self.first)
        dist.all_reduce(out)
        return out

    def with_the_greatest(self, x):
        out = functional.linear(x, self.weight, self.bias)
        dist.all_reduce(out, dist.ReduceOp.MAX)
        return out

    def after_a_ramp(self, x):
        out = functional.linear(x, self.weight, self.bias)
        out.relu_()
        dist.all_reduce(out)
        return out


class WholeServed(Served):
    """Ranks have samples of their own, and the layer whole."""

    def __init__(self, rank):
        super().__init__(rank)
        self.whole = torch.ones(3, 2)

    def with_whole(self, x):
        out = functional.linear(x, self.whole, self.bias)
        dist.all_reduce(out)
        return out


def serve(rank, call, made=Served):
    torch.manual_seed(0)
    layer = made(rank)
    for step in range(3):
        call(layer, data(0, step).chunk(2, dim=1)[rank])


def served_with_each_bias(rank):
    serve(rank, Served.with_each)


def healthy_served_with_shares(rank):
    serve(rank, Served.with_shares)


def healthy_served_with_the_first(rank):
    serve(rank, Served.with_the_first)


def healthy_served_with_the_greatest(rank):
    serve(rank, Served.with_the_greatest)


def healthy_served_after_a_ramp(rank):
    serve(rank, Served.after_a_ramp)


def healthy_served_whole(rank):
    serve(rank, WholeServed.with_whole, WholeServed)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
