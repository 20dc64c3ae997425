"""Small programs of two ranks whose loaders give one of them a batch less; and their healthy twins. They run as those
of `group_programs.py` do."""

import random
import sys

import torch
import torch.distributed as dist
from group_programs import chosen, model, run
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, Dataset, Sampler, TensorDataset


class Share(Sampler):
    """Gives a rank its part of the places."""

    def __init__(self, many, rank):
        self.many, self.rank = many, rank

    def __iter__(self):
        begin = self.rank * -(-self.many // 2)
        return iter(list(range(self.many))[begin : begin + -(-self.many // 2)])  # expect: GS790 in sampled_unevenly

    def __len__(self):
        return self.many // 2


class Stretch(Sampler):
    """Gives a rank the stretch of places that is its own; the last one ends where all end."""

    def __init__(self, many, rank):
        share = -(-many // 2)
        begin = rank * share
        end = min(many, begin + share)  # expect: GS790 in cut_short
        self.places = list(range(begin, end))

    def __iter__(self):
        return iter(self.places)

    def __len__(self):
        return len(self.places)


class Ward(Sampler):
    """Keeps from where to where the stretch goes that is a rank's own, and shuffles it."""

    def __init__(self, many, rank):
        share = -(-many // 2)
        self.first = rank * share
        self.beyond = min(self.first + share, many)  # expect: GS790 in kept_short

    def __len__(self):
        return self.beyond - self.first

    def __iter__(self):
        drawn = torch.Generator().manual_seed(3)
        return iter((torch.randperm(len(self), generator=drawn) + self.first).tolist())


class Told(Sampler):
    """Only tells where a stretch would end, and takes each second place."""

    def __init__(self, many, rank):
        self.many, self.number = many, rank
        self.beyond = min((rank + 1) * -(-many // 2), many)

    def __len__(self):
        return self.beyond

    def __iter__(self):
        return iter(list(range(self.many))[self.own()])

    def own(self):
        return slice(self.number, None, 2)


class Wells(Dataset):
    """The wells of a rank's own district, by their numbers in it."""

    def __init__(self, many, rank):
        share = -(-many // 2)
        self.first, self.all = rank * share, rows(many)
        self.beyond = min(self.first + share, many)  # expect: GS790 in measured_short

    def __len__(self):
        return self.beyond - self.first

    def __getitem__(self, at):
        return self.all[self.first + at]


WEIGHTS = [1, 1, 1, 6, 6, 6, 3, 3, 3]
MOST = 8  # in a box


class Boxes:
    """Packs samples into boxes, and gives a rank every second box."""

    def __init__(self, rank):
        self.rank = rank

    def of_an_order(self):
        packed, used = [0], 0
        for at in torch.randperm(len(WEIGHTS)).tolist():  # expect: GS790 in packed_by_a_seed_of_each
            if used + WEIGHTS[at] > MOST:
                packed.append(0)
                used = 0
            packed[-1] += 1
            used += WEIGHTS[at]
        return packed[self.rank :: 2]

    def of_a_shuffle(self):
        packed, used = [0], 0
        order = list(range(len(WEIGHTS)))
        random.shuffle(order)  # expect: GS790 in packed_by_a_shuffle_of_each
        for at in order:
            if used + WEIGHTS[at] > MOST:
                packed.append(0)
                used = 0
            packed[-1] += 1
            used += WEIGHTS[at]
        return packed[self.rank :: 2]

    def of_one_order(self):
        packed, used = [0], 0
        for at in torch.randperm(len(WEIGHTS), generator=torch.Generator().manual_seed(1)).tolist():
            if used + WEIGHTS[at] > MOST:
                packed.append(0)
                used = 0
            packed[-1] += 1
            used += WEIGHTS[at]
        return packed[self.rank :: 2]  # expect: GS790 in packed_alike

    def of_light_ones(self):
        """The order says nothing of how many there are."""
        light = []
        for at in torch.randperm(len(WEIGHTS)).tolist():
            if WEIGHTS[at] == 1:
                light.append(at)
        return light[self.rank :: 2]  # expect: GS790 in light_ones


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


def cut_short(rank):
    epoch(Replicated(model()), DataLoader(rows(9), batch_size=1, sampler=Stretch(9, rank)))


def healthy_not_cut_short(rank):
    epoch(Replicated(model()), DataLoader(rows(8), batch_size=1, sampler=Stretch(8, rank)))


def kept_short(rank):
    """As in https://github.com/k2-fsa/snowfall/issues/152."""
    epoch(Replicated(model()), DataLoader(rows(9), batch_size=1, sampler=Ward(9, rank)))


def healthy_not_kept_short(rank):
    epoch(Replicated(model()), DataLoader(rows(8), batch_size=1, sampler=Ward(8, rank)))


def measured_short(rank):
    epoch(Replicated(model()), DataLoader(Wells(9, rank), batch_size=1))


def healthy_not_measured_short(rank):
    epoch(Replicated(model()), DataLoader(Wells(8, rank), batch_size=1))


def told_short(rank):
    """The bound that is told has no part in it."""
    loader = DataLoader(rows(9), batch_size=1, sampler=Told(9, rank))  # expect: GS790
    epoch(Replicated(model()), loader)


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


def take(net, parts):
    for many in parts:
        net(torch.ones(many + 1, 4)).square().mean().backward()
    dist.barrier()


def packed_by_a_seed_of_each(rank):
    net, boxes = Replicated(model()), Boxes(rank)
    torch.manual_seed(0 + rank)
    take(net, boxes.of_an_order())


def packed_by_a_shuffle_of_each(rank):
    net, boxes = Replicated(model()), Boxes(rank)
    random.seed(2 + rank)
    take(net, boxes.of_a_shuffle())


def packed_alike(rank):
    net, boxes = Replicated(model()), Boxes(rank)
    torch.manual_seed(0 + rank)
    take(net, boxes.of_one_order())


def light_ones(rank):
    net, boxes = Replicated(model()), Boxes(rank)
    torch.manual_seed(0 + rank)
    take(net, boxes.of_light_ones())


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
