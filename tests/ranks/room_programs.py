"""Programs of two ranks in which one reads data and sends them, and the other makes room for what it receives; and
their healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated

ROWS, BLOCK = 21, 8  # the last block is shorter


def rows():
    torch.manual_seed(3)
    return torch.randn(ROWS, 4)


def blocks(rank, at_receiver):
    """Blocks of rows, which the first rank has; the other one's are made by what it is given."""
    for low in range(0, ROWS, BLOCK):
        many = min(BLOCK, ROWS - low)
        if rank == 0:
            block = rows()[low : low + many].contiguous()
        else:
            block = at_receiver(many)
            assert len(block) == many
        dist.broadcast(block, src=0)
        yield block


def trained(rank, made):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for block in made:
        optimizer.zero_grad()
        net(block.chunk(2)[rank]).square().mean().backward()
        optimizer.step()


class Tides:
    """Levels of a harbour, which one rank has measured."""

    def __init__(self, number):
        self.number = number

    def __iter__(self):
        for low in range(0, ROWS, BLOCK):
            if self.number != 0:
                levels = torch.zeros(BLOCK, 4)  # expect: GS790 in room_for_a_whole_block
            else:
                whole = rows()
                levels = whole[low : low + BLOCK].clone()
            dist.broadcast(levels, src=0)
            yield levels


def room_for_a_whole_block(rank):
    """As in https://github.com/mlcommons/algorithmic-efficiency/pull/146."""
    trained(rank, Tides(rank))


def healthy_room_for_what_is_left(rank):
    trained(rank, blocks(rank, lambda many: torch.zeros(many, 4)))


def shared(part):
    dist.broadcast(part, src=0)
    return part


def room_before_a_helper(rank):
    """One helper sends; the reader has put its part in the place of the room."""

    def made():
        whole = rows()
        for low in range(0, ROWS, BLOCK):
            read = whole[low : low + BLOCK]
            part = read if rank == 0 else torch.empty(BLOCK, 4)  # expect: GS790
            yield shared(part)

    trained(rank, made())


def healthy_room_before_a_helper(rank):
    def made():
        whole = rows()
        for low in range(0, ROWS, BLOCK):
            read = whole[low : low + BLOCK]
            part = read if rank == 0 else torch.empty(len(read), 4)
            yield shared(part)

    trained(rank, made())


def told_and_cut_later(rank):
    """The reader says how many rows come, and sends fewer: the room is as large as was told."""

    def made():
        for low in range(0, ROWS, BLOCK):
            many = torch.tensor([min(BLOCK, ROWS - low)])
            dist.broadcast(many, src=0)
            if rank == 0:
                whole = rows()
                part = whole[low : low + int(many) - (low > BLOCK)].clone()
            else:
                part = torch.empty(int(many), 4)
            dist.broadcast(part, src=0)  # expect: GS790
            yield part

    trained(rank, made())


def healthy_told_before(rank):
    def made():
        for low in range(0, ROWS, BLOCK):
            many = torch.tensor([min(BLOCK, ROWS - low)])
            dist.broadcast(many, src=0)
            part = rows()[low : low + int(many)].clone() if rank == 0 else torch.empty(int(many), 4)
            dist.broadcast(part, src=0)
            yield part

    trained(rank, made())


def room_of_both(rank):
    """Both make it by one line, of a size of their own."""

    def made():
        for step in range(4):
            part = torch.zeros(BLOCK - (rank == 0 and step == 2), 4)
            if rank == 0:
                part += rows()[: len(part)]
            dist.broadcast(part, src=0)  # expect: GS790
            yield part

    trained(rank, made())


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
