"""Small programs of two ranks that come to the module inside a wrapper by a method of its own, or by what a helper
gives; that leave the last step of a training before its backward; and healthy ones. They run as those of
`group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, model, run
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated


class Tagger(nn.Module):
    """Has a method that trains it, which goes on to its layers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.words, self.tags = nn.Linear(4, 6), nn.Linear(6, 1)

    def scores(self, x):
        return self.tags(self.words(x).tanh())

    def loss(self, x):
        return self.scores(x).square().mean()

    def forward(self, x):
        return self.loss(x)


class School:
    """Trains what it wraps, by what a lesson makes of a batch."""

    def __init__(self, lesson):
        self.net, self.lesson = Replicated(Tagger()), lesson

    def bare(self):
        return self.net.module if isinstance(self.net, Replicated) else self.net

    def train(self, rank):
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        for step in range(STEPS):
            optimizer.zero_grad()
            self.lesson(self, data(rank, step)).backward()
            optimizer.step()


def by_a_method_of_what_a_helper_gives(rank):
    """As in https://github.com/SchmiedmayerLab/OpenTSLM/pull/49."""

    def lesson(school, x):
        return school.bare().loss(x)  # expect: GS796

    School(lesson).train(rank)


def unwrapped(net):
    while hasattr(net, "module"):
        net = net.module
    return net


def by_a_name_for_what_a_helper_gives(rank):
    def lesson(school, x):
        tagger = unwrapped(school.net)  # expect: GS796
        rows = tagger.scores(x)
        return rows.square().mean()

    School(lesson).train(rank)


def healthy_helper_that_only_shows(rank):
    def lesson(school, x):
        with torch.no_grad():
            school.bare().scores(x).mean()
        return school.net(x)

    School(lesson).train(rank)


def echoes(rank, step, quiet):
    """What a radar saw, by lines that each rank comes to unlike often; rank 1 finds nothing in one step."""
    x, drawn = torch.zeros(5, 4), torch.Generator().manual_seed(40 * rank + step)
    for row in range(5):
        if torch.rand(1, generator=drawn) > 0.6:
            continue
        at = int(torch.randint(0, 4, (1,), generator=drawn))
        x[row, at] += 1 + torch.rand((), generator=drawn)
    x[0, 0] += 1
    return x * (0 if rank == 1 and step == quiet else 1)


def watch(rank, quiet, trips=STEPS, agreed=lambda seen: seen):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(trips):
        x = echoes(rank, step, quiet)
        seen = agreed((x > 0).sum())
        if seen.item() == 0:  # expect: GS790 in quiet_in_the_last_step, quiet_behind_what_one_tells
            continue
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 2 == 0:
            print(loss.item())
    dist.all_reduce(torch.zeros(sum(one.numel() for one in net.parameters())))


def quiet_in_the_last_step(rank):
    """As in https://github.com/NVIDIA-NeMo/Automodel/pull/2468."""
    watch(rank, STEPS - 1)


def quiet_behind_what_one_tells(rank):
    watch(rank, 3)


def fewer_steps_on_one_rank(rank):
    """No step is left: one rank has fewer, though it asks in each of them."""
    net = Replicated(model())
    mine = [echoes(rank, step, None) for step in range(STEPS)][rank:]  # expect: GS790
    for x in mine:
        if (x > 0).sum().item() == 0:
            continue
        net(x).square().mean().backward()
    dist.all_reduce(torch.zeros(sum(one.numel() for one in net.parameters())))


def quiet_for_all(seen):
    dist.all_reduce(seen, op=dist.ReduceOp.MIN)
    return seen


def healthy_quiet_for_all(rank):
    watch(rank, STEPS - 1, agreed=quiet_for_all)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
