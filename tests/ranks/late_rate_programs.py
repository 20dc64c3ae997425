"""Small programs of two ranks whose learning rates part after the last look at their weights; and their healthy twins.
They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import chosen, data, model, run
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel as Replicated

ROUNDS, LONG = 6, 6  # steps: 36, of which the last that is looked at is the 33rd


def train(rank, after, net=None, rate=0.05):
    net = net or Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    tell = after(optimizer)
    for at in range(ROUNDS):
        seen = torch.zeros(2)
        for step in range(LONG):
            optimizer.zero_grad()
            errors = net(data(rank, LONG * at + step)).square()
            errors.mean().backward()
            optimizer.step()
            seen += torch.stack([errors.detach().sum() * (1 + 99 * rank), torch.ones(())])
            if LONG * at + step == LONG * ROUNDS - 3:
                tell(seen)


def watcher(optimizer):
    """A closure that cuts the rate when what it is told is large."""
    memory = {"cuts": 0}

    def hear(value):
        if value < 0.8:
            return
        memory["cuts"] += 1
        for group in optimizer.param_groups:
            group["lr"] *= 0.5

    return hear


def told_its_own(optimizer):
    hear = watcher(optimizer)

    def after(seen):
        total, count = seen.tolist()
        hear(total / count)

    return after


def told_by_all(optimizer):
    ear = watcher(optimizer)

    def after(seen):
        dist.all_reduce(seen)
        total, count = seen.tolist()
        ear(total / count)

    return after


def healthy_a_closure_that_is_told_by_all(rank):
    train(rank, told_by_all)


def plateau(of_all):
    def made(optimizer):
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, mode="max", threshold=1e-6)

        def after(seen):
            if of_all:
                dist.all_reduce(seen)
            for value in (1.0, (seen[0] / seen[1]).item()):
                schedule.step(value)  # expect: GS792 in a_plateau_of_its_own

        return after

    return made


def a_plateau_of_its_own(rank):
    """As in https://github.com/lucidrains/DALLE-pytorch/issues/268."""
    train(rank, plateau(of_all=False))


def healthy_a_plateau_of_all(rank):
    train(rank, plateau(of_all=True))


def healthy_models_of_their_own(rank):
    """Nobody averages anything: each rank may go on as it likes."""
    train(rank, told_its_own, model())


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
