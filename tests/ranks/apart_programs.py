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


def healthy_aim_beside_a_copy(rank):
    """Copies its model before the wrap for another use."""
    plain = model()
    kept, net = copy.deepcopy(plain), Replicated(plain)
    aim = model(rank).requires_grad_(False)
    for step in range(STEPS):
        x = data(rank, step)
        (net(x) - aim(x)).square().mean().backward()
        kept.load_state_dict(plain.state_dict())


def runs_at_last(net, kept, rank):
    """Runs what nobody trains when steps have long been alike."""
    for step in range(2 * STEPS):
        x = data(rank, step)
        net(x).square().mean().backward()
        with torch.no_grad():
            for one, other in zip(kept.parameters(), net.parameters(), strict=True):
                one.lerp_(other, 0.1)
        if step == STEPS:
            kept(x)


def copy_that_runs_late(rank):
    plain = model(rank)
    kept = copy.deepcopy(plain)  # expect: GS795
    runs_at_last(Replicated(plain), kept, rank)


def healthy_aim_that_runs_late(rank):
    """Has a copy that was taken before the wrap, too, which is loaded."""
    plain, aim = model(), model(rank).requires_grad_(False)
    kept, net = copy.deepcopy(plain), Replicated(plain)
    kept.load_state_dict(plain.state_dict())
    runs_at_last(net, aim, rank)


def one_of_two_copies(rank):
    """Says nothing where it may have been either, one of which is given its parameters anew."""
    plain = model(rank)
    kept = copy.deepcopy(plain)
    loaded = copy.deepcopy(plain)
    net = Replicated(plain)
    loaded.load_state_dict(plain.state_dict())
    runs_at_last(net, kept, rank)


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
        self.register_buffer("places", torch.randperm(4))  # expect: GS797 in draws_beside_a_lazy_part

    def forward(self, x):
        return self.inner(x[:, self.places])


class PartlyLazy(nn.Module):
    """Has a part that never runs, so that nobody knows how large it is."""

    def __init__(self):
        super().__init__()
        self.runs, self.rests = nn.Linear(4, 4), nn.LazyLinear(4)

    def forward(self, x):
        return self.runs(x)


class Noisy(Mixed):
    def __init__(self, seed):
        super().__init__(torch.zeros(4))
        chosen = torch.Generator().manual_seed(seed)
        self.register_buffer("shift", torch.randn(4, generator=chosen))

    def forward(self, x):
        return self.inner(x + self.shift)


def on_its_own(rank, built, first=torch.clone, **settings):
    net = Replicated(built, **settings)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(first(data(rank, step)).detach()).square().mean().backward()
        optimizer.step()


def draws_beside_a_lazy_part(rank):
    lazy = PartlyLazy()
    torch.manual_seed(rank + 1)
    net = Shuffled()
    on_its_own(rank, net, lazy, broadcast_buffers=False)


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


def logged(rank, parts, read=lambda logs: [one.item() for one in logs.values()]):
    """Reduces what a step logs, each by its name."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = net(data(rank, step)).square().mean()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            read(parts(loss.detach()))


def summed(logs):
    for value in logs.values():
        dist.all_reduce(value)  # expect: GS799 in summed_by_two_names
    return [one.item() for one in logs.values()]


def summed_by_two_names(rank):
    logged(rank, lambda loss: {"loss": loss, "whole": loss}, summed)


def healthy_clones_by_two_names(rank):
    logged(rank, lambda loss: {"loss": loss, "whole": loss.clone()}, summed)


def healthy_two_parts(rank):
    """Sums both halves of one memory."""

    def parts(loss):
        both = torch.stack([loss, 2 * loss])
        return {"one": both[:1], "other": both[1:]}

    logged(rank, parts, summed)


def healthy_greatest_by_two_names(rank):
    def greatest(logs):
        for value in logs.values():
            dist.all_reduce(value, op=dist.ReduceOp.MAX)
        return [one.item() for one in logs.values()]

    logged(rank, lambda loss: {"loss": loss, "whole": loss}, greatest)


def healthy_written_between(rank):
    def running(logs):
        for value in logs.values():
            dist.all_reduce(value)
            value.div_(2)
        return [one.item() for one in logs.values()]

    logged(rank, lambda loss: {"loss": loss, "again": loss}, running)


def healthy_read_between(rank):
    """Asks whether any rank had something, now and again."""

    def asked(logs):
        for value in logs.values():
            dist.all_reduce(value)
            assert value.item() == 0

    logged(rank, lambda loss: {"bad": loss.isnan().sum(), "again": loss.isnan().sum()}, asked)
    logged(rank, lambda loss: dict.fromkeys(("bad", "again"), loss.isnan().sum().clone()), asked)


def healthy_token(rank):
    """Meets by a tensor that nobody reads."""
    token = torch.ones(2) * 2

    def meet(logs):
        dist.all_reduce(token)
        dist.all_reduce(token)

    logged(rank, lambda loss: {}, meet)


def healthy_sum_of_parts(rank):
    """Sums in a part of the ranks first, then over the parts."""
    groups = [dist.new_group([one]) for one in range(2)]

    def by_part(logs):
        for value in logs.values():
            dist.all_reduce(value, group=groups[rank])
            dist.all_reduce(value)
        return [one.item() for one in logs.values()]

    logged(rank, lambda loss: {"loss": loss.clone()}, by_part)


class Stream(torch.utils.data.IterableDataset):
    """Numbers from somewhere, which each rank reads from the first on."""

    def __init__(self, step=1):
        self.step = step

    def __iter__(self):
        yield from torch.arange(96.0).reshape(24, 4)[:: self.step] / 96


def streamed(rank, loader):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in loader:
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()


def one_stream_for_all(rank):
    stream = Stream()  # expect: GS794
    loader = torch.utils.data.DataLoader(stream, batch_size=2)
    streamed(rank, loader)


def steps_of(net, rank, settings):
    optimizer = torch.optim.SGD(net.parameters(), lr=settings["lr"])
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        optimizer.step()


def settings_of_one_rank(rank):
    settings = {"lr": 0.1}
    if rank == 0:  # expect: GS792
        settings.update(lr=0.05)
    steps_of(Replicated(model()), rank, settings)


def rate_in_a_branch(rank):
    settings, net = {"lr": 0.1}, model()
    if rank == 0:
        settings["name"] = net.name = "main"
    net = Replicated(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1 * (rank + 1))  # expect: GS792
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
