"""Small programs of two ranks whose loaders give one of them a batch less; and their healthy twins. They run as those
of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, model, run
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, Sampler, TensorDataset


class Share(Sampler):
    """Gives a rank its part of the places."""

    def __init__(self, many, rank):
        self.many, self.rank = many, rank

    def __iter__(self):
        begin = self.rank * -(-self.many // 2)
        return iter(list(range(self.many))[begin : begin + -(-self.many // 2)])  # expect: GS790 in sampled_unevenly

    def __len__(self):
        return self.many // 2


def rows(many):
    torch.manual_seed(0)
    return TensorDataset(torch.randn(many, 4))


def epoch(net, loader):
    for (x,) in loader:
        net(x).square().mean().backward()
    dist.barrier()


def epoch_with_a_limit(net, loader, patience):
    for (x,) in loader:  # expect: GS790 in given_up_by_one_of_two
        loss = net(x).square().mean()
        loss.backward()
        if patience.pop() > 3:
            break
        if loss.isnan():
            break
    dist.barrier()


def sampled_unevenly(rank):
    epoch(Replicated(model()), DataLoader(rows(9), batch_size=1, sampler=Share(9, rank)))


def healthy_sampled_evenly(rank):
    epoch(Replicated(model()), DataLoader(rows(8), batch_size=1, sampler=Share(8, rank)))


def loaded_unevenly(rank):
    loader = DataLoader(rows(4 - rank), batch_size=1)  # expect: GS790
    epoch(Replicated(model()), loader)


def healthy_joined(rank):
    net = Replicated(model())
    with Join([net]):
        for (x,) in DataLoader(rows(4 - rank), batch_size=1):
            net(x).square().mean().backward()


def given_up_by_one_of_two(rank):
    """Leaves by one of two ways out, and not as the loader had no more."""
    epoch_with_a_limit(Replicated(model()), DataLoader(rows(4), batch_size=1), [0, 0, 9 * rank, 0])


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
