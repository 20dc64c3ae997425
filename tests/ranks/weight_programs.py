"""Programs of two ranks that keep running statistics of what all ranks see, by numbers of their own or of all.

They run as those of `group_programs.py` do.
"""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, model, run


def batch(rank, step, alike=False):
    return torch.randn(
        4 + step + (0 if alike else 3 * rank), 4, generator=torch.Generator().manual_seed(10 * rank + step)
    )


def moments(x):
    """The mean of the batch of all ranks, and its size."""
    total = torch.cat([torch.tensor([float(len(x))]), x.sum(0)])
    dist.all_reduce(total)
    return total[0].item(), total[1:] / total[0]


class Running:
    def __init__(self):
        self.n, self.mean = 0.0, torch.zeros(4)

    def add(self, mean, n):
        self.n += n
        share = n / self.n
        self.mean += (mean - self.mean) * share


def fit(rank, update, alike=False):
    net = model()
    for step in range(STEPS):
        x = batch(rank, step, alike)
        update(x)
        net(x).square().mean().backward()


def weighed_by_its_own_number(rank):
    running = Running()

    def update(x):
        _, mean = moments(x)
        running.add(mean, len(x))  # expect: GS780

    fit(rank, update)


def weighed_in_place(rank):
    kept = [torch.zeros(4), 0]

    def update(x):
        n = x.size(0)
        total = x.sum(0) / n
        dist.all_reduce(total)
        kept[1] += n
        kept[0] += (total / 2 - kept[0]) * (n / kept[1])  # expect: GS780

    fit(rank, update)


def healthy_number_of_all(rank):
    running = Running()

    def update(x, of_all=True):
        n, mean = moments(x)
        if of_all:
            running.add(mean, n)
        else:
            running.add(mean, len(x))

    fit(rank, update)


def healthy_number_that_is_summed(rank):
    running = Running()

    def update(x):
        n = torch.tensor(x.size(0))
        dist.all_reduce(n)
        running.add(moments(x)[1], n.item())

    fit(rank, update)


def healthy_mean_of_its_own(rank):
    running = Running()
    fit(rank, lambda x: running.add(x.mean(0), len(x)))
    dist.all_reduce(running.mean)


def healthy_difference_of_its_own(rank):
    running = Running()

    def update(x):
        mean = moments(x)[1]
        running.add(x.mean(0) - mean, len(x))

    fit(rank, update)


def healthy_expected_number(rank):
    kept = {}

    def update(x):
        share = moments(x)[1]
        kept["expected"] = share * len(x)

    fit(rank, update)


def healthy_total_that_is_summed(rank):
    seen = torch.zeros(4)

    def update(x):
        mean = moments(x)[1]
        seen.add_(mean * len(x))

    fit(rank, update)
    dist.all_reduce(seen)


def healthy_batches_alike(rank):
    running = Running()

    def update(x):
        mean = moments(x)[1]
        running.add(mean, len(x))

    fit(rank, update, alike=True)


def healthy_loss_for_the_log(rank):
    class Meter:
        def __init__(self):
            self.value, self.n = torch.zeros(()), 0

        def add(self, loss, n):
            self.n += n
            self.value += (loss - self.value) * (n / self.n)

    meter = Meter()

    def update(x):
        loss = x.square().mean()
        dist.all_reduce(loss)
        meter.add(loss / 2, len(x))

    fit(rank, update)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
