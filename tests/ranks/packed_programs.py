"""Small programs of two ranks that have as many samples each, and batches by what these hold: unequal in number, or cut
to the smallest. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated

ROLLS = 24
BUDGET = 60


def rolls():
    """Rolls of cloth, and how long each is: the first half are the short ones."""
    chance = torch.Generator().manual_seed(3)
    return [(torch.rand(4, generator=chance), 4 + place) for place in range(ROLLS)]


def begin():
    net = Replicated(model())
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def weave(net, optimizer, batch):
    optimizer.zero_grad()
    net(torch.stack([cloth for cloth, _ in batch])).square().mean().backward()
    optimizer.step()


def laid_out(mine):
    """Full tables: a roll is put on the next one where it is too long for what is left."""
    tables, table, used = [], [], 0
    for roll in mine:
        if used + roll[1] > BUDGET:
            tables.append(table)
            table, used = [], 0
        table.append(roll)
        used += roll[1]
    tables.append(table)
    return tables


def in_turn(mine, seed):
    tables = laid_out(mine)
    turns = torch.randperm(len(tables), generator=torch.Generator().manual_seed(seed))
    for turn in turns.tolist():  # expect: GS791 in tables_of_as_many_rolls
        yield tables[turn]


def smallest(count):
    fewest = torch.tensor(count)
    dist.all_reduce(fewest, op=dist.ReduceOp.MIN)
    return int(fewest)


def tables_of_as_many_rolls(rank):
    """As in https://github.com/QwenAudio/CosyVoice/issues/297."""
    net, optimizer = begin()
    share = ROLLS // 2
    mine = rolls()[rank * share : (rank + 1) * share]
    for round_ in range(2):
        for table in in_turn(mine, round_):
            weave(net, optimizer, table)


def healthy_tables_cut_to_the_fewest(rank):
    net, optimizer = begin()
    share = ROLLS // 2
    tables = laid_out(rolls()[rank * share : (rank + 1) * share])
    count = smallest(len(tables))
    for _ in range(2):
        for table in tables[:count]:
            weave(net, optimizer, table)


class Loom:
    """Takes rolls one by one until it is full."""

    def __init__(self, rank):
        self.net, self.optimizer = begin()
        self.mine = rolls()[12 * rank : 12 * rank + 12]

    def loads(self, mine):
        load, used = [], 0
        for roll in mine:
            load, used = [*load, roll], used + roll[1]
            if used >= BUDGET:
                yield load
                load, used = [], 0

    def fit(self):
        for load in self.loads(self.mine):  # expect: GS791 in loads_that_are_full
            weave(self.net, self.optimizer, load)


def one_loop_through_what_is_left(rank):
    net, optimizer = begin()
    mine = rolls()[rank * 12 : rank * 12 + 12]
    kept = [roll for roll in mine if roll[1] % 5 != 0]
    for roll in kept:  # expect: GS791
        weave(net, optimizer, [roll])


def part_of_the_tables(rank):
    """What a rank takes its part of after it was packed: one of five is nobody else's."""
    net, optimizer = begin()
    tables = laid_out(rolls())[:5]
    mine = tables[rank::2]  # expect: GS791
    for table in mine:
        weave(net, optimizer, table)


def loads_that_are_full(rank):
    loom = Loom(rank)
    loom.fit()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
