"""Small programs of two ranks whose loops go through what a function yields, once more on one of them; and their
healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, data, model, run
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as Replicated
from torch.utils.data import DataLoader, TensorDataset

MOST = 4


class Memory:
    """Keeps the rows that were large enough, of which a rank has its own number."""

    def __init__(self, many):
        torch.manual_seed(0)
        self.rows = torch.randn(many, 4)
        self.rows = self.rows.clone()

    def counted(self):
        many = len(self.rows) // 2  # expect: GS790 in counted_by_a_name
        for at in range(many):
            yield self.rows[2 * at : 2 * at + 2]

    def measured(self, size):
        for at in range(len(self.rows) // size):  # expect: GS790 in measured_in_the_loop
            yield at, self.rows[size * at : size * at + size]

    def __iter__(self):
        begin = 0
        while begin < len(self.rows):  # expect: GS790 in gone_through_by_itself
            yield self.rows[begin : begin + 2]
            begin += 2

    def halved(self):
        parts = self.rows.split(2)  # expect: GS790 in split_in_what_yields
        yield from parts

    def large(self):
        for row in self.rows:
            if row.sum() < 50:
                yield row[None]

    def with_a_rest(self):
        for at in range(len(self.rows) // 2):
            yield self.rows[2 * at : 2 * at + 2]
        if len(self.rows) % 2:
            yield self.rows[-1:]

    def first(self, many):
        for at in range(many):
            yield self.rows[at : at + 1]


def moved(loader):
    for (x,) in loader:
        yield x.float()


def numbers():
    for at in range(MOST):
        yield data(0, at)


def learn(batches):
    net = Replicated(model())
    for x in batches:  # expect: GS790 in kept_by_a_condition, told_how_many, left_a_rest
        net(x).square().mean().backward()
    dist.barrier()


def counted_by_a_name(rank):
    learn(Memory(8 - 2 * rank).counted())


def healthy_counted(rank):
    learn(Memory(8 + rank).counted())


def healthy_joined(rank):
    net = Replicated(model())
    with Join([net]):
        for x in Memory(8 - 2 * rank).counted():
            net(x).square().mean().backward()


def measured_in_the_loop(rank):
    net, memory = Replicated(model()), Memory(8 - 2 * rank)
    for _, (_, x) in enumerate(memory.measured(2)):
        net(x).square().mean().backward()
    dist.barrier()


def gone_through_by_itself(rank):
    learn(Memory(8 - 2 * rank))


def split_in_what_yields(rank):
    learn(Memory(8 - 2 * rank).halved())


def moved_from_a_loader(rank):
    rows = TensorDataset(*[Memory(4 - rank).rows])
    loader = DataLoader(rows, batch_size=1)  # expect: GS790
    learn(moved(loader))


def split_beside_the_loop(rank):
    net, memory = Replicated(model()), Memory(8 - 2 * rank)
    parts = memory.rows.split(2)  # expect: GS790
    for x in parts:
        net(x).square().mean().backward()
    dist.barrier()


def kept_by_a_condition(rank):
    """How many are kept may be by the condition, or by how many there are."""
    learn(Memory(4 - rank).large())


def left_a_rest(rank):
    """All have as many pairs, and one has a row more."""
    learn(Memory(6 + rank).with_a_rest())


def told_how_many(rank):
    learn(Memory(8).first(MOST - rank))


def drawn_from_besides(rank):
    """All ranks have as many, of which one takes another by itself."""
    net = Replicated(model())
    steps = numbers()
    for x in steps:  # expect: GS790
        net(x).square().mean().backward()
        if rank == 1 and x.sum() < 50:
            next(steps, None)
    dist.barrier()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
