"""Programs of two ranks whose fault is what was handed on: a part of the data, a number, a loss, a rate; and their
healthy twins. They run as those of `group_programs.py` do."""

import contextlib
import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run, train
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

SHARDS = (6, 4, 5, 3)  # batches of each


def batches_of(rank, shards):
    return [data(rank, step) for shard in shards for step in range(shard)]


class Trainer:
    """Goes through what it is given."""

    def __init__(self, batches):
        self.net, self.batches = Replicated(model()), batches
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def epoch(self):
        for x in self.batches:  # expect: GS790 in batches_that_are_given
            self.optimizer.zero_grad()
            self.net(x).square().mean().backward()
            self.optimizer.step()

    def train(self):
        self.epoch()
        dist.barrier()


def batches_that_are_given(rank):
    Trainer(batches_of(rank, (SHARDS[2 * rank], 1))).train()


class Sharded(Trainer):
    """Takes its own part."""

    def __init__(self, rank):
        mine = SHARDS[rank::2]  # expect: GS790 in batches_of_a_shard
        loader = batches_of(rank, mine)
        super().__init__(loader)
        self.loader = loader

    def epoch(self):
        for number, x in enumerate(self.loader):
            self.optimizer.zero_grad()
            (self.net(x) * (number < STEPS)).square().mean().backward()
            self.optimizer.step()


def batches_of_a_shard(rank):
    Sharded(rank).train()


def batches_of_some_rows(rank):
    net = Replicated(model())
    rows = [row for row in range(7) if row % 2 == rank]  # expect: GS790
    for row in rows:
        net(data(rank, row)).square().mean().backward()
    dist.barrier()


def last_rows_of_some(rank):
    net = Replicated(model())
    mine = list(range(7))[rank::2]  # expect: GS791
    for row in mine:
        net(data(rank, row)).square().mean().backward()


def as_many_as_a_rank_has(rank):
    net = Replicated(model())
    mine = list(range(7))[rank::2]
    for row in range(len(mine)):  # expect: GS790
        net(data(rank, row)).square().mean().backward()
    dist.barrier()


def healthy_parts(rank):
    net = Replicated(model())
    rows = [row for row in range(6) if row % 2 == rank]
    for row in rows:
        net(data(rank, row)).square().mean().backward()
    dist.barrier()


def report(rank, collect):
    """What one rank collects at the end of an epoch, and the others train on."""
    net = Replicated(model())
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        dist.all_reduce(torch.ones(1))
        if rank == 0:
            collect()  # expect: GS790 in collected_by_one_rank


def collect_examples():
    parts = [None, None]
    dist.all_gather_object(parts, 1)


def collected_by_one_rank(rank):
    report(rank, collect_examples)


def healthy_report(rank):
    report(rank, lambda: torch.ones(1).sum())


class Keeper:
    """Saves what is the best so far, which all ranks wait for."""

    def __init__(self, name):
        self.best, self.name = 10.0, name

    def validated(self, metrics):
        current = float(metrics[self.name])
        if current < self.best:
            self.best = current
            self.save()

    def save(self):
        dist.barrier()


def mean_of(value):
    value = torch.tensor(float(value))
    dist.all_reduce(value)
    return (value / 2).item()


class Kept:
    """Trains, and tells a keeper what a rank found; on rank 1 step 3 is worse than on rank 0."""

    def __init__(self, rank, share=float):
        self.rank, self.share, self.net = rank, share, Replicated(model())

    def validate(self, step):
        losses = torch.full((3,), 5.0 - step + 4 * (self.rank == 1 and step == 3))
        loss = self.share(losses.mean().item())  # expect: GS790 in keeps_by_its_own_loss
        return {"loss": loss, "count": mean_of(len(losses))}

    def fit(self, keepers):
        for step in range(STEPS):
            self.net(data(self.rank, step)).square().mean().backward()
            metrics = self.validate(step)
            metrics["step"] = mean_of(step)
            for keeper in keepers:
                keeper.validated(metrics)


def keeps_by_its_own_loss(rank):
    Kept(rank).fit([Keeper("loss")])


def healthy_keeper(rank):
    Kept(rank, share=mean_of).fit([Keeper("loss")])


def layer_of_what_a_rank_knows(rank):
    labels = torch.arange(3 + rank)
    classes = len(labels.unique())  # expect: GS791
    net = Replicated(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, classes)))
    train(net, rank)


def healthy_layer_of_all(rank):
    labels = torch.arange(4)
    classes = len(labels.unique())
    net = Replicated(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, classes)))
    train(net, rank)


class Restorer(nn.Module):
    """May have a layer that it does not use."""

    def __init__(self, noisy):
        super().__init__()
        torch.manual_seed(0)
        self.encode = nn.Linear(4, 6)
        if noisy:
            self.noise = nn.Linear(6, 6)  # expect: GS791 in layer_that_nothing_runs
        self.decode = nn.Sequential(nn.Tanh(), nn.Linear(6, 1))

    def forward(self, x):
        return self.decode(self.encode(x))


def layer_that_nothing_runs(rank):
    train(Replicated(Restorer(noisy=True)), rank)


def healthy_layers(rank):
    train(Replicated(Restorer(noisy=False)), rank)


class Accumulator:
    """Lets the gradients of every second step be averaged."""

    def __init__(self):
        self.calls = 0

    @contextlib.contextmanager
    def accumulate(self, *models):
        self.calls += 1
        with contextlib.ExitStack() as stack:
            if self.calls % 2:
                for one in models:
                    stack.enter_context(one.no_sync())
            yield


def accumulated(rank, enter):
    first, second, accumulator = Replicated(model()), Replicated(nn.Linear(1, 1)), Accumulator()
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for step in range(STEPS):
        with enter(accumulator, first, second):
            second(first(data(rank, step))).square().mean().backward()
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()


def counted_for_each_model(rank):
    @contextlib.contextmanager
    def enter(accumulator, first, second):
        with accumulator.accumulate(first), accumulator.accumulate(second):  # expect: GS796
            yield

    accumulated(rank, enter)


def healthy_counted_for_both(rank):
    accumulated(rank, lambda accumulator, first, second: accumulator.accumulate(first, second))


def in_rounds(rank, enter):
    """Sums the gradients of two batches, and lets `enter` hold them back."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        with contextlib.ExitStack() as entered:
            enter(entered, net, step)
            net(data(rank, step)).square().mean().backward()
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()


def held_back_by_a_name(rank):
    def enter(entered, net, step):
        ends_a_round = step % 2 == 0  # expect: GS796
        if not ends_a_round:
            entered.enter_context(net.no_sync())

    in_rounds(rank, enter)


def healthy_held_back_by_a_name(rank):
    def enter(entered, net, step):
        ends_a_round = step % 2 == 1
        if not ends_a_round:
            entered.enter_context(net.no_sync())

    in_rounds(rank, enter)


def held_back_by_a_name_of_two_values(rank):
    def enter(entered, net, step):
        waits = step % 2 == 1
        if step < 0:
            waits = False
        if waits:  # expect: GS796
            entered.enter_context(net.no_sync())

    in_rounds(rank, enter)


def parts_of_steps(rank, net, run=lambda net, x: net(x)):
    """Sums the gradients of two batches, and lets who takes a part set by hand whether they are averaged."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        yield step % 2
        run(net, data(rank, step)).square().mean().backward()
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()


def switched_on_behind_the_last(rank):
    """As in https://github.com/huggingface/picotron/pull/5."""
    net = Replicated(model())
    for part in parts_of_steps(rank, net):
        net.require_backward_grad_sync = part >= 2  # expect: GS796


def healthy_switched_on_at_the_last(rank):
    net = Replicated(model())
    for part in parts_of_steps(rank, net):
        net.require_backward_grad_sync = part == 1


def loss_in_parts(rank, switch_first):
    """Takes the loss of half the rows at a time, and tells the wrapper which half is the last."""
    net = Replicated(model())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    for step in range(STEPS):
        for last, x in enumerate(data(rank, step).tensor_split(2)):
            if switch_first:
                setattr(net, "require_backward_grad_sync", bool(last))  # noqa: B010
            loss = net(x).square().mean() / 2
            if not switch_first:
                net.require_backward_grad_sync = bool(last)  # expect: GS796 in switched_behind_the_forward
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def switched_behind_the_forward(rank):
    loss_in_parts(rank, switch_first=False)


def healthy_switched_before_the_forward(rank):
    loss_in_parts(rank, switch_first=True)


def switched_on_by_a_condition(rank):
    net = Replicated(model())
    for part in parts_of_steps(rank, net):
        net.require_backward_grad_sync = False
        if part == 2:  # expect: GS796
            net.require_backward_grad_sync = True


def healthy_switched_on_by_a_condition(rank):
    net = Replicated(model())
    for part in parts_of_steps(rank, net):
        net.require_backward_grad_sync = False
        if part == 1:
            net.require_backward_grad_sync = True


def leave_alone(net):
    net.require_backward_grad_sync = False  # expect: GS796 in switched_off_for_good


def switched_off_for_good(rank):
    net = Replicated(model())
    for part in parts_of_steps(rank, net):
        if part == 0:
            leave_alone(net)


def called_past_what_is_switched(rank):
    """It is switched as it should be: that the wrapper is not called has nothing to do with it."""
    net = Replicated(model())
    for part in parts_of_steps(rank, net, lambda net, x: net.module(x)):  # expect: GS796
        net.require_backward_grad_sync = part == 1


def steep(rank, rate):
    """Far from what it learns, on all ranks alike."""
    net, world = Replicated(model()), dist.get_world_size()
    optimizer = torch.optim.SGD(net.parameters(), lr=rate * world, momentum=0.9)
    for step in range(40):
        optimizer.zero_grad()
        (net(data(rank, step)) - 30.0).square().square().mean().backward()
        optimizer.step()  # expect: GS793 in rate_too_large


def rate_too_large(rank):
    steep(rank, 0.01)


def healthy_rate(rank):
    steep(rank, 1e-8)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
