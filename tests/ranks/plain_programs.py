"""Programs of two ranks that keep what they have seen in plain tensors, with a fault each or none. They run as those of
`group_programs.py` do."""

import sys
from types import SimpleNamespace

import torch
import torch.distributed as dist
from group_programs import Replicated, chosen, model, run
from torch import nn
from torch.nn import functional

STEPS = 9


def of_all(value):
    total = value.detach().clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


def own(value):
    return value


def batches(of):
    """What a rank measures: the ranks' instruments are not alike."""
    draws = torch.Generator().manual_seed(7 + of)
    for _ in range(STEPS):
        yield (1 + of) * torch.randn(8, 4, generator=draws) + 3 * of


def train(net, rank, loss):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x in batches(rank):
        optimizer.zero_grad()
        loss(net, x).backward()
        for one in net.parameters():
            if one.grad is not None and not isinstance(net, Replicated):
                dist.all_reduce(one.grad)
                one.grad /= 2
        optimizer.step()


class Welford:
    """Mean and squares of a turbine's sensors, batch by batch."""

    def __init__(self, agreed):
        self.agreed = agreed
        self.many, self.mean, self.squares = torch.zeros(()), torch.zeros(4), torch.zeros(4)

    def see(self, x):
        mean = self.agreed(x.mean(0))
        off = mean - self.mean
        total = self.many + len(x)
        self.mean = self.mean + off * len(x) / total
        spread = self.agreed((x - mean).square().sum(0))  # expect: GS797 in own_sensors
        self.squares = self.squares + spread + off.square() * self.many * len(x) / total
        self.many = total

    def __call__(self, x):
        return (x - self.mean) / (self.squares / self.many + 1e-3).sqrt()


def sensors(rank, agreed):
    seen, net = Welford(agreed), Replicated(model())

    def loss(net, x):
        seen.see(x)
        return net(seen(x)).square().mean()

    train(net, rank, loss)


def own_sensors(rank):
    """As in https://github.com/leggedrobotics/rsl_rl/pull/226."""
    sensors(rank, own)


def healthy_sensors_of_all(rank):
    sensors(rank, of_all)


def kinds_of(x):
    return (x[:, 0] > 1).long() + (x[:, 1] > 2).long()


def follow_rare_kinds(agreed):
    """A closure that weighs kinds of crops by how seldom they were seen."""
    seen = {"kinds": torch.ones(3)}

    def loss(net, x):
        kinds = kinds_of(x)
        there = functional.one_hot(kinds, 3).float().sum(0)  # expect: GS797 in own_kinds_of_crops
        seen["kinds"] *= 0.9
        seen["kinds"] += agreed(there)
        weights = seen["kinds"].sum() / seen["kinds"]
        return functional.cross_entropy(net(x), kinds, weight=weights)

    return loss


def own_kinds_of_crops(rank):
    """As in https://github.com/facebookresearch/dinov2/issues/286."""
    torch.manual_seed(0)
    train(nn.Linear(4, 3), rank, follow_rare_kinds(own))


def healthy_kinds_of_all_crops(rank):
    torch.manual_seed(0)
    train(nn.Linear(4, 3), rank, follow_rare_kinds(of_all))


def towards_the_middles(middles, agreed):
    """Each kind of galaxy has a middle, which follows what was seen of it, by a product with who belongs to it."""

    def loss(net, x):
        made, kinds = net(x), kinds_of(x)
        belongs = functional.one_hot(kinds, 3).float()
        with torch.no_grad():
            sums = agreed(belongs.T @ made)  # expect: GS797 in own_middles
            many = agreed(belongs.sum(0))[:, None]
            middles.copy_(torch.where(many > 0, middles * 0.8 + 0.2 * sums / many.clamp_min(1e-6), middles))
        return (made - middles.clone()[kinds]).square().mean() - 0.01 * made.std()

    return loss


def own_middles(rank):
    """As in https://github.com/espnet/espnet/pull/6284."""
    torch.manual_seed(0)
    train(nn.Linear(4, 5), rank, towards_the_middles(torch.zeros(3, 5), own))


def healthy_middles_of_all(rank):
    torch.manual_seed(0)
    train(nn.Linear(4, 5), rank, towards_the_middles(torch.zeros(3, 5), of_all))


def by_usual_losses(agreed):
    """The loss of a forecast of tides, by what it was lately."""
    usual = SimpleNamespace(loss=torch.ones(1))

    def loss(net, x):
        now = (net(x) - x[:, :1]).square().mean()
        usual.loss = torch.lerp(usual.loss, agreed(now.detach()), 0.1)  # expect: GS797 in own_losses
        return (now / usual.loss).sum()

    return loss


def own_losses(rank):
    """As in https://github.com/tianzhi0549/FCOS/issues/228."""
    train(model(), rank, by_usual_losses(own))


def healthy_losses_of_all(rank):
    train(model(), rank, by_usual_losses(of_all))


def in_bins(agreed):
    """A table of bins of loudness in which what was heard is counted at once, without a sum before."""
    heard = torch.zeros(6)

    def loss(net, x):
        bins = x[:, 0].clamp(0, 5).long()
        heard.index_add_(0, bins, torch.ones(len(x)))  # expect: GS797 in own_bins
        shared = agreed(heard)
        weights = 1 / (1 + shared / shared.sum())
        return (net(x).square() * weights[bins][:, None]).mean()

    return loss


def own_bins(rank):
    """As in https://github.com/libffcv/ffcv/issues/226."""
    train(model(), rank, in_bins(own))


def healthy_bins_of_all(rank):
    train(model(), rank, in_bins(of_all))


def healthy_of_the_same_samples(rank):
    """Both ranks see the same."""
    seen = Welford(own)
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x in batches(0):
        seen.see(x)
        optimizer.zero_grad()
        (net(seen(x)) * (1 + rank)).square().mean().backward()
        for one in net.parameters():
            dist.all_reduce(one.grad)
        optimizer.step()


def healthy_losses_to_show(rank):
    shown = torch.zeros(2)

    def loss(net, x):
        now = net(x).square().mean()
        shown.mul_(0.9).add_(torch.stack([now.detach(), now.detach() / (1 + shown[0])]))
        return now

    train(model(), rank, loss)


def healthy_baseline_of_each_rank(rank):
    """What is only taken off rewards changes no expectation."""
    usual = torch.zeros(())

    def loss(net, x):
        policy = torch.distributions.Normal(net(x), 1.0)
        acted = policy.sample()
        rewards = -(acted - x[:, :1]).square()
        usual.lerp_(rewards.mean(), 0.1)
        return -(policy.log_prob(acted) * (rewards - usual)).mean()

    train(model(), rank, loss)


def healthy_hidden_states(rank):
    """What a network remembers of its own samples goes from step to step."""
    torch.manual_seed(0)
    net = nn.ModuleList([nn.Linear(4, 6), nn.Linear(6, 6)])
    memory = torch.zeros(8, 6)

    def loss(net, x):
        nonlocal memory
        gate = torch.sigmoid(net[0](x))
        memory = gate * memory + (1 - gate) * torch.tanh(net[1](memory))
        found = memory.square().mean()
        memory = memory.detach()
        return found

    train(net, rank, loss)


def healthy_simulated_arms(rank):
    """The arms that a rank simulates are where its own forces have brought them."""
    place, speed = torch.zeros(8), torch.zeros(8)

    def loss(net, x):
        force = net(torch.stack([place, speed, x[:, 0], x[:, 1]], 1))
        speed.mul_(0.9).add_((force.detach() * x).sum(1), alpha=0.1)
        place.add_(speed, alpha=0.1)
        return ((force.sum(1) - x[:, 0]) * (1 + place.abs())).square().mean()

    train(model(), rank, loss)


def healthy_ring_of_samples(rank):
    """A rank learns from what it has seen before."""
    ring = torch.ones(16, 4)
    weights = torch.ones(16)

    def loss(net, x):
        at = torch.randperm(16)[: len(x)]
        ring[at] = x
        again = torch.multinomial(weights, 8)
        found = (net(ring[again]) * ring[again]).square().mean(1)
        weights[again] = found.detach()
        return found.mean()

    train(model(), rank, loss)


def healthy_features_of_each_batch(rank):
    """What a layer learns to make is normalised by what it made lately, as BatchRenorm does."""
    lately = torch.ones(6)
    torch.manual_seed(0)

    def loss(net, x):
        made = net(x)
        lately.lerp_(made.detach().std(0), 0.1)
        return (made / lately).tanh().mean()

    train(nn.Linear(4, 6), rank, loss)


def healthy_made_equal_at_times(rank):
    seen = Welford(own)
    steps = iter(range(STEPS))

    def loss(net, x):
        seen.see(x)
        if next(steps) == 6:
            seen.mean, seen.squares = of_all(seen.mean), of_all(seen.squares)
        return net(seen(x)).square().mean()

    train(model(), rank, loss)


def healthy_velocities_by_hand(rank):
    """Steps by hand, of gradients that are cut by the norm of all."""
    net = model()
    velocities = [torch.zeros_like(one) for one in net.parameters()]
    for x in batches(rank):
        net.zero_grad()
        net(x).square().mean().backward()
        with torch.no_grad():
            for one in net.parameters():
                dist.all_reduce(one.grad)
            norm = torch.stack([one.grad.norm() for one in net.parameters()]).norm()
            for one, velocity in zip(net.parameters(), velocities, strict=True):
                velocity.mul_(0.9).add_(one.grad * (1 / norm).clamp(max=1))
                one.sub_(0.01 * velocity)


def healthy_residuals_of_each_rank(rank):
    """What a rank did not send of its gradient, since it is sent in signs, it adds to the next one."""
    net = model()
    kept = [torch.zeros_like(one) for one in net.parameters()]
    for x in batches(rank):
        net.zero_grad()
        net(x).square().mean().backward()
        with torch.no_grad():
            for one, left in zip(net.parameters(), kept, strict=True):
                whole = one.grad + left
                sent = whole.abs().mean() * whole.sign()
                left.copy_(whole - sent)
                dist.all_reduce(sent)
                one.sub_(0.005 * sent)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
