"""Programs of two ranks that leave steps out by what each measures of its own batch, and their healthy twins; run as
those of `group_programs.py` are."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, data, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated

STEPS, STEEP = 10, 5  # the step in which the second rank's batch is far off


def batch(number, step):
    return data(number, step) * (50.0 if (number, step) == (1, STEEP) else 1.0)


def trained(rank, usable):
    """Steps, but for those that `usable` says no to, by the loss and the gradients."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        x = batch(rank, step)
        loss = (net(x) - x[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        good = usable(loss)
        if good:
            optimizer.step()


class Guard:
    """Says whether a loss fits into half precision, as the scale is now; of this rank alone, or of all."""

    def __init__(self, together=False):
        self.scale, self.together = 2.0**12, together

    def fits(self, loss):
        scaled = (loss.detach() * self.scale).half()
        flag = torch.isfinite(scaled).float()
        if self.together:
            dist.all_reduce(flag, op=dist.ReduceOp.MIN)
        return bool(flag.item())


class OwnGuard(Guard):
    def fits_here(self, loss):
        scaled = (loss.detach() * self.scale).half()
        flag = torch.isfinite(scaled).float()
        return bool(flag.item())  # expect: GS792 in flag_of_a_guard


def flag_of_a_guard(rank):
    """As in https://github.com/pytorch/pytorch/issues/136009."""
    net, guard = Replicated(model()), OwnGuard()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        x = batch(rank, step)
        loss = (net(x) - x[:, :1]).square().mean()
        fits = guard.fits_here(loss)
        optimizer.zero_grad()
        loss.backward()
        if fits:
            optimizer.step()


def healthy_flag_of_all(rank):
    trained(rank, Guard(together=True).fits)


def loss_that_leaps(rank):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        x = batch(rank, step)
        loss = (net(x) - x[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        value = loss.item()  # expect: GS792
        if value > 30.0:
            print("a batch is left out")
            continue
        optimizer.step()


def healthy_mean_loss_that_leaps(rank):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        x = batch(rank, step)
        loss = (net(x) - x[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        value = mean.item()
        if value > 30.0:
            continue
        optimizer.step()


class Stepper:
    """Makes the steps, but for those after batches that are far off."""

    def __init__(self, net):
        self.optimizer, self.left_out = torch.optim.SGD(net.parameters(), lr=0.01), 0

    def step(self, x):
        spread = x.abs().max().item()  # expect: GS792 in spread_of_a_batch
        if spread > 20.0:
            self.left_out += 1
            return
        self.optimizer.step()

    def step_by_two(self, x):
        spread = x.abs().max().item()
        if spread > 20.0:
            return
        middle = x.median().item()
        if middle > 500.0:
            return
        self.optimizer.step()  # expect: GS792 in one_of_two_measures

    def step_of_all(self, x):
        spread = x.abs().max()
        dist.all_reduce(spread, op=dist.ReduceOp.MAX)
        if spread.item() > 20.0:
            self.left_out += 1
            return
        self.optimizer.step()


def stepped(number, step_of):
    net = Replicated(model())
    stepper = Stepper(net)
    for step in range(STEPS):
        x = batch(number, step)
        net.zero_grad()
        (net(x) - x[:, :1]).square().mean().backward()
        step_of(stepper, x)


def spread_of_a_batch(rank):
    stepped(rank, Stepper.step)


def one_of_two_measures(rank):
    """It is not known which of them it was."""
    stepped(rank, Stepper.step_by_two)


def healthy_spread_of_all(rank):
    stepped(rank, Stepper.step_of_all)


def asked_in_the_condition(rank):
    trained(rank, lambda loss: loss.item() < 30.0)  # expect: GS792


def together_but_for_a_rank(rank):
    """What is measured is of all ranks: the rank is what decides."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        x = batch(rank, step)
        loss = (net(x) - x[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        value = loss.item()
        if value > 30.0 and rank == 1:  # expect: GS792
            continue
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
