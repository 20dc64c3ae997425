"""Programs of two ranks that score a model by samples which they share, and sum what comes of it.

They run as those of `group_programs.py` do.
"""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset


class Samples(Dataset):
    def __init__(self, number):
        drawn = torch.Generator().manual_seed(number)
        self.x = torch.randn(number, 4, generator=drawn)
        self.y = self.x.sum(1, keepdim=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, place):
        return self.x[place], self.y[place], self.x[place]


def filled(samples):
    return DistributedSampler(samples, shuffle=False)  # expect: GS769 in filled_up, filled_up_with_tensors


def cut(samples):
    return DistributedSampler(samples, shuffle=False, drop_last=True)


def part(samples):
    return range(dist.get_rank(), len(samples), 2)


def whole(samples):
    return range(len(samples))


def train(net, samples, sampler):
    for x, y, _ in DataLoader(samples, 2, sampler=sampler):
        (net(x) - y).square().mean().backward()


@torch.no_grad()
def score(net, samples, sampler, op=dist.ReduceOp.SUM):
    error = torch.zeros(2)
    for x, y, _ in DataLoader(samples, 2, sampler=sampler):
        error += torch.stack([(net(x) - y).square().sum(), torch.tensor(float(len(x)))])
    if op == dist.ReduceOp.SUM:
        dist.all_reduce(error)
    else:
        dist.all_reduce(error, op)
    return error[0] / error[1]


def fit(rank, number, share, **options):
    net, samples, scored = Replicated(model()), Samples(12), Samples(number)
    for _ in range(2):
        train(net, samples, part(samples))
        score(net.module, scored, share(scored), **options)


def filled_up(rank):
    fit(rank, 9, filled)


def tensors(number):
    x = torch.randn(number, 4, generator=torch.Generator().manual_seed(number))
    y = x.sum(1, keepdim=True)
    return TensorDataset(x, y, y)


def fit_tensors(rank, number, share):
    net, samples, scored = Replicated(model()), tensors(12), tensors(number)
    for _ in range(2):
        train(net, samples, part(samples))
        score(net.module, scored, share(scored))


def filled_up_with_tensors(rank):
    fit_tensors(rank, 9, filled)


def healthy_part_of_tensors(rank):
    fit_tensors(rank, 9, part)


def healthy_share_that_divides(rank):
    fit(rank, 6, filled)


def healthy_part_of_each(rank):
    fit(rank, 9, part)


def healthy_whole_on_each(rank):
    fit(rank, 5, whole)


def healthy_cut_short(rank):
    fit(rank, 5, cut)


def healthy_greatest(rank):
    fit(rank, 9, filled, op=dist.ReduceOp.MAX)


def healthy_trained_on(rank):
    net, samples = Replicated(model()), Samples(7)
    for _ in range(2):
        losses = [(net(x) - y).square().mean() for x, y, _ in DataLoader(samples, 2, sampler=filled(samples))]
        loss = torch.stack(losses).mean()
        shown = loss.detach().clone()
        dist.all_reduce(shown)
        loss.backward()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
