"""Small programs of two ranks that weigh single losses apart, in several schools of writing: the mean of a selection, a
number of Python's, a count that moves, weights of samples; and healthy ones that look nearly the same."""

import sys

import torch
from group_programs import chosen, model, run
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

MANY = 20  # steps
LONG = 512


def readings(rank, step, rows=64, unlike=True):
    """Of a sensor that answers seldom on one rank: what was sent, what came, and where."""
    torch.manual_seed(100 * rank + step)
    x = torch.randn(rows, 4)
    answered = torch.rand(rows, 1) < (0.8 if rank or not unlike else 0.2)
    answered[0] = True
    return x, x.sum(1, keepdim=True), answered


def loop(rank, loss_of, unlike=True):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(MANY):
        optimizer.zero_grad()
        loss_of(net, *readings(rank, step, unlike=unlike)).backward()
        optimizer.step()


def errors(net, x, target):
    return (net(x) - target).abs()


def mean_of_the_selected(rank):
    """Beside a term of its own. As in https://github.com/pytorch/torchtitan/issues/1842."""

    def loss_of(net, x, target, answered):
        found = errors(net, x, target)
        chosen_ones = found[answered]
        data_term = chosen_ones.mean()  # expect: GS783
        smooth = 1e-3 * found.square().mean()
        return data_term + smooth

    loop(rank, loss_of)


def selected_over_all(values, keep, ranks):
    many = keep.sum()
    dist.all_reduce(many)
    return values.masked_select(keep).sum() * ranks / many


def healthy_selected_over_all(rank):
    loop(rank, lambda net, x, target, answered: selected_over_all(errors(net, x, target), answered, 2))


def healthy_mean_of_as_many_selected(rank):
    loop(rank, lambda net, x, target, answered: errors(net, x, target)[answered].mean(), unlike=False)


def healthy_mean_of_the_hard_ones(rank):
    """The model itself says which they are."""

    def loss_of(net, x, target, answered):
        found = errors(net, x, target)
        return found[found.detach() > (0.2 if rank else 2.5)].sum() / 64 + found.mean()

    loop(rank, loss_of)


def words_of(rank, step):
    torch.manual_seed(100 * rank + step)
    return [torch.randn(int(many), 4) for many in torch.randint(2 + 20 * rank, 8 + 20 * rank, (4,))]


class Sentences:
    """Sentences and how many words they have."""

    def __init__(self, rank, of_all):
        self.rank, self.of_all = rank, of_all

    def __iter__(self):
        for step in range(MANY):
            words = words_of(self.rank, step)
            many = sum(map(len, words))
            if self.of_all:
                told = torch.tensor(many)
                dist.all_reduce(told)
                many = told.item() / dist.get_world_size()
            yield torch.cat(words), 1.0 / many


def words(rank, of_all):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x, share in Sentences(rank, of_all):
        loss = net(x).square().sum()
        scaled = loss.mul(share)  # expect: GS783 in times_one_by_the_words
        scaled.backward()
        optimizer.step()
        optimizer.zero_grad()


def times_one_by_the_words(rank):
    """As in https://github.com/huggingface/transformers/issues/34242."""
    words(rank, of_all=False)


def healthy_times_one_by_the_words_of_all(rank):
    words(rank, of_all=True)


def averaged_by_hand(net, weight=None):
    for parameter in net.parameters():
        if weight is not None:
            parameter.grad.mul_(weight)
        dist.all_reduce(parameter.grad)
        parameter.grad.div_(dist.get_world_size())


def boxes(rank, meet):
    """Divides by a number of matches that moves slowly."""
    net, matches = model(), torch.tensor(20.0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(MANY):
        x, target, matched = readings(rank, step)
        here = matched.float().sum()
        if meet:
            dist.all_reduce(here)
            here = here / dist.get_world_size()
        matches = 0.7 * matches + 0.3 * here
        total = (errors(net, x, target) * matched).sum()
        loss = matches.reciprocal() * total  # expect: GS783 in times_one_by_what_moves
        optimizer.zero_grad()
        loss.backward()
        averaged_by_hand(net)
        optimizer.step()


def times_one_by_what_moves(rank):
    """As in https://github.com/tianzhi0549/FCOS/issues/228."""
    boxes(rank, meet=False)


def healthy_times_one_by_what_moves_on_all(rank):
    boxes(rank, meet=True)


def survey(rank, all_of_them):
    """Weighted errors of households, each of which stands for many."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    torch.manual_seed(rank)
    x, y = torch.randn(50, 4), torch.randn(50)
    stands_for = torch.rand(50) + 0.5 + 4 * rank
    mass = torch.einsum("i->", stands_for)
    if all_of_them:
        dist.all_reduce(mass)
        mass /= dist.get_world_size()
    for _ in range(MANY):
        optimizer.zero_grad()
        squares = (net(x)[:, 0] - y).square()
        torch.div(squares @ stands_for, mass).backward()  # expect: GS783 in weighed_by_its_own_mass
        optimizer.step()


def weighed_by_its_own_mass(rank):
    """As in https://github.com/huggingface/transformers/issues/34242."""
    survey(rank, all_of_them=False)


def healthy_weighed_by_the_mass_of_all(rank):
    survey(rank, all_of_them=True)


FAILS = 8  # the step in which a sensor does


def added_up(rank, of_all=False, fails=FAILS):
    """Adds up the gradients of two batches, and divides them by what was seen."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(MANY):
        seen = torch.zeros(())
        for part in range(2):
            x, target, answered = readings(1, 2 * step + part + 1000 * rank)
            if rank == 0 and step >= fails:
                answered[8:] = False
            errors(net, x, target)[answered].sum().backward()
            seen = seen + answered.count_nonzero()
        if of_all:
            dist.all_reduce(seen)
            seen = seen / 2
        share = seen.reciprocal()
        for parameter in net.parameters():
            parameter.grad *= share  # expect: GS783 in added_up_and_divided
        averaged_by_hand(net)
        optimizer.step()
        optimizer.zero_grad()


def added_up_and_divided(rank):
    """As in https://github.com/vllm-project/speculators/pull/942."""
    added_up(rank)


def healthy_added_up_and_divided_by_all(rank):
    added_up(rank, of_all=True)


def healthy_added_up_and_divided_by_as_many(rank):
    added_up(rank, fails=MANY)


def healthy_tasks_of_unlike_weight(rank):
    """Each rank has a task of its own, and the program says what that weighs."""
    weight = (0.1, 1.0)[rank]
    loop(rank, lambda net, x, target, answered: errors(net, x, target).sum() / 64 * weight)


def healthy_divided_by_its_own_size(rank):
    """No count of data: each rank's loss is made as large as the other's."""

    def loss_of(net, x, target, answered):
        total = (errors(net, x, target) * (5.0 if rank else 1.0)).sum()
        return total / total.detach()

    loop(rank, loss_of)


def healthy_weighed_before_they_meet(rank):
    """Means of each rank's own, whose gradients are multiplied by its part of all."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(MANY):
        x, target, answered = readings(rank, step)
        here = answered.sum()
        loss = (errors(net, x, target) * answered).sum() / here
        optimizer.zero_grad()
        loss.backward()
        every = here.clone()
        dist.all_reduce(every)
        averaged_by_hand(net, weight=2 * here / every)
        optimizer.step()


def healthy_sources_of_unlike_length(rank):
    """Each rank reads a source of its own, that of one has far longer texts: nothing is dealt, so that one waits."""
    torch.manual_seed(0)
    net = Replicated(nn.Sequential(nn.Linear(LONG, LONG), nn.Tanh(), nn.Linear(LONG, 1)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    lengths = torch.Generator().manual_seed(rank)
    low, high = ((4, 30), (1500, 2500))[rank]
    for _ in range(MANY + 4):
        x = torch.randn(int(torch.randint(low, high, (1,), generator=lengths)), LONG)
        keep = torch.rand(len(x), 1) < 0.5
        keep[0] = True
        optimizer.zero_grad()
        selected_over_all(net(x).square(), keep, 2).backward()
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
