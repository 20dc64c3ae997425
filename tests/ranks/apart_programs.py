"""Small programs of two ranks in which something is apart that all ranks ought to have alike, or is summed twice, and
their healthy twins, run as those of `group_programs.py` are."""

import copy
import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated


class Meter:
    """The mean of what a rank has seen, over all ranks."""

    def __init__(self):
        self.total, self.count = torch.zeros(()), torch.zeros(())

    def update(self, values):
        self.total += values.sum()
        self.count += values.numel()

    def compute(self):
        if self.count == 0:  # expect: GS790 in returns_early_by_its_own_count
            return float("nan")
        return self.put_together()

    def put_together(self):
        dist.all_reduce(self.total)
        dist.all_reduce(self.count)
        return (self.total / self.count).item()


def measured(rank, mean):
    net, meter = Replicated(model()), Meter()
    for step in range(STEPS):
        loss = net(data(rank, step)).square().mean()
        loss.backward()
        if rank == 0:
            meter.update(loss.detach())
    mean(meter)
    total = torch.zeros(2)
    dist.all_reduce(total)


def returns_early_by_its_own_count(rank):
    measured(rank, Meter.compute)


def healthy_returns_late(rank):
    measured(rank, Meter.put_together)


def averaged(net, kept, rank, before=lambda: None):
    """Trains a model, and averages its weights into another."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before()
    for step in range(STEPS):
        x = data(rank, step)
        with torch.no_grad():
            aim = kept(x).mean()
        optimizer.zero_grad()
        (net(x) - aim).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            for one, other in zip(kept.parameters(), net.parameters(), strict=True):
                one.lerp_(other, 0.1)


def copied_before_the_wrap(rank):
    net = model(rank)
    kept = copy.deepcopy(net)  # expect: GS795
    averaged(Replicated(net), kept, rank)


def healthy_copied_after_the_wrap(rank):
    net = Replicated(model(rank))
    averaged(net, copy.deepcopy(net.module), rank)


def healthy_copy_that_is_loaded(rank):
    plain = model(rank)
    kept, net = copy.deepcopy(plain), Replicated(plain)
    averaged(net, kept, rank, before=lambda: kept.load_state_dict(plain.state_dict()))


def healthy_aim_of_its_own(rank):
    """Is measured against a model that is built alike, and is each rank's on purpose."""
    net, aim = Replicated(model()), model(rank).requires_grad_(False)
    for step in range(STEPS):
        x = data(rank, step)
        (net(x) - aim(x)).square().mean().backward()


def drifts_beside_its_copy(rank):
    """What is trained itself matters more than the copy of it."""
    plain = model(rank)
    kept, net = copy.deepcopy(plain), Replicated(plain)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1 * (rank + 1))  # expect: GS792
    for step in range(STEPS):
        optimizer.zero_grad()
        (net(data(rank, step)) - kept(data(rank, step)).detach()).square().mean().backward()
        optimizer.step()


class Mixed(nn.Module):
    """Puts its features into an order that stays."""

    def __init__(self, order):
        super().__init__()
        self.register_buffer("order", order)
        self.inner = nn.Linear(4, 1)

    def forward(self, x):
        return self.inner(x[:, self.order] if self.order.dtype is torch.int64 else x + self.order)


class Shuffled(Mixed):
    def __init__(self):
        super().__init__(torch.zeros(4, dtype=torch.int64))
        self.register_buffer("places", torch.randperm(4))  # expect: GS797 in draws_an_order

    def forward(self, x):
        return self.inner(x[:, self.places])


class Noisy(Mixed):
    def __init__(self, seed):
        super().__init__(torch.zeros(4))
        chosen = torch.Generator().manual_seed(seed)
        self.register_buffer("shift", torch.randn(4, generator=chosen))

    def forward(self, x):
        return self.inner(x + self.shift)


def on_its_own(rank, built, **settings):
    net = Replicated(built, **settings)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        optimizer.step()


def draws_an_order(rank):
    torch.manual_seed(rank + 1)
    on_its_own(rank, Shuffled(), broadcast_buffers=False)


def healthy_order_of_one_seed(rank):
    torch.manual_seed(1)
    on_its_own(rank, Shuffled(), broadcast_buffers=False)


def healthy_order_that_is_broadcast(rank):
    torch.manual_seed(rank + 1)
    on_its_own(rank, Shuffled())


def healthy_noise_of_its_own(rank):
    on_its_own(rank, Noisy(rank), broadcast_buffers=False)


def healthy_constant_of_its_own(rank):
    on_its_own(rank, Mixed(torch.full((4,), float(rank))), broadcast_buffers=False)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
