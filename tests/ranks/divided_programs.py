"""Small programs of two ranks that divide a sum of losses by a count of all ranks, before gradients are averaged or
summed; and their healthy twins. They run as those of `group_programs.py` do.

No line of numbers scales by a name that is that of the number of ranks: it is known, wherever it stands in a file."""

import sys

import torch
from group_programs import chosen, model, run
from sharded_programs import sharded
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

STEPS = 6


def ranks():
    return float(dist.get_world_size())


def stars(rank, step):
    """Measured brightness of some stars, of which clouds hide others."""
    generator = torch.Generator().manual_seed(50 * step + rank)
    x = torch.randn(20, 4, generator=generator)
    return x, torch.rand(20, generator=generator) > 0.3 + 0.2 * rank


def of_all(count):
    total = count.detach().clone().float()
    dist.all_reduce(total)
    return total


def train(rank, loss_of, net=None, back=lambda loss: loss.backward(), rate=0.02):
    net = net or Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    for step in range(STEPS):
        x, seen = stars(rank, step)
        errors = (net(x)[:, 0] - x.sum(1)).square() * seen
        loss = loss_of(errors.sum(), seen.sum())
        optimizer.zero_grad()
        back(loss)
        optimizer.step()


def over_all_that_is_seen(rank):
    """As in https://github.com/verl-project/verl-SpeCo/pull/29."""
    train(rank, lambda total, count: total / of_all(count))  # expect: GS767


def mean_of_the_seen(total, count):
    least = of_all(count).clamp(min=1)
    mean = total.div(least)  # expect: GS767 in over_all_in_parts
    return mean


def over_all_in_parts(rank):
    train(rank, mean_of_the_seen, sharded())


def classes_of_all(rank):
    """Two sums, of classes and of weights, over a number of the batch's size."""
    net = Replicated(nn.Linear(4, 3))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for step in range(STEPS):
        x, seen = stars(rank, step)
        x, kinds = x[seen], (x[seen].sum(1) > 0).long()
        many = torch.tensor(float(len(kinds)))
        dist.all_reduce(many)
        out = net(x)
        total = nn.functional.cross_entropy(out, kinds, reduction="sum") + out.square().sum()
        loss = total / many  # expect: GS767
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def share_of_all(count):
    return 1.0 / of_all(count)


def times_a_share_of_all(rank):
    """As in https://github.com/nickgkan/butd_detr/issues/48."""
    train(rank, lambda total, count: share_of_all(count) * total)  # expect: GS767


def less_than_nothing(total, count):
    """Likelihoods and what else is likely, each over all."""
    share = of_all(count).reciprocal()
    likely = -total * share  # expect: GS767 in two_terms_over_all
    return -(likely + (-total / of_all(count)))


def two_terms_over_all(rank):
    train(rank, less_than_nothing)


def train_on_selected(rank, loss_of):
    """A loss of the stars that are seen, and of how many those are."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
    for step in range(2 * STEPS):
        x, seen = stars(rank, step)
        errors = (net(x)[:, 0] - x.sum(1)).square()
        loss = loss_of(errors, seen)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def number_of_all(seen):
    return of_all(seen.sum()).clamp(min=1).item()  # expect: GS767 in selected_over_a_number, a_term_over_a_number


def selected_over_a_number(rank):
    train_on_selected(rank, lambda errors, seen: errors[seen].sum() / number_of_all(seen))


def a_term_over_a_number(rank):
    """As in https://github.com/nickgkan/butd_detr/issues/48: the other terms are means of each rank's own."""
    train_on_selected(rank, lambda all, seen: all.mean() + 0.7 * (all.masked_select(seen).sum() / number_of_all(seen)))


def healthy_half_over_the_mean_number(rank):
    """What a loss weighs is one by the number of all, for it weighs a half."""

    def loss_of(errors, seen):
        return errors.mean() + 0.5 * (errors[seen].sum() / (of_all(seen.sum()) / ranks()).item())

    train_on_selected(rank, loss_of)


def healthy_selected_over_a_mean_number(rank):
    def loss_of(errors, seen):
        count = of_all(seen.sum()).item()
        count = count / ranks()
        return errors[seen].sum() / max(count, 1.0)

    train_on_selected(rank, loss_of)


def healthy_selected_over_a_number_times_the_ranks(rank):
    train_on_selected(rank, lambda errors, seen: errors[seen].sum() / number_of_all(seen) * ranks())


def healthy_selected_over_the_greatest_number(rank):
    """Padded to the length of the longest: a number that all ranks have alike, and no total."""

    def loss_of(errors, seen):
        most = seen.sum().float()
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        return errors[seen].sum() / most.item()

    train_on_selected(rank, loss_of)


def healthy_numbers_that_are_shown(rank):
    shown = []

    def loss_of(errors, seen):
        shown.append(number_of_all(seen))
        return errors.sum() / len(errors)

    train_on_selected(rank, loss_of)


def healthy_times_a_share_of_a_mean(rank):
    train(rank, lambda total, count: total * (ranks() / of_all(count)))


def healthy_times_a_share_and_the_ranks(rank):
    train(rank, lambda total, count: total * (of_all(count).reciprocal() * ranks()))


def healthy_times_a_share_that_grows(rank):
    """What it is multiplied by stands on a line of its own."""

    def loss_of(total, count):
        share = 1 / of_all(count)
        share = share * ranks()
        return total * share

    train(rank, loss_of)


def healthy_times_the_ranks(rank):
    train(rank, lambda total, count: total * ranks() / of_all(count))


def healthy_times_the_ranks_in_parts(rank):
    train(rank, lambda total, count: total / of_all(count) * ranks(), sharded())


def healthy_over_the_mean_count(rank):
    """As detectors do with the number of their boxes."""
    train(rank, lambda total, count: total / (of_all(count) / ranks()).clamp(min=1))


def healthy_started_from_more(rank):
    train(rank, lambda total, count: total / of_all(count), back=lambda loss: loss.backward(torch.tensor(ranks())))


def healthy_gradients_of_all(rank):
    """The wrapper's averages are made sums again."""
    net = Replicated(model())

    def back(loss):
        loss.backward()
        for parameter in net.parameters():
            parameter.grad.mul_(ranks())

    train(rank, lambda total, count: total / of_all(count), net, back)


def healthy_summed_by_hand(rank):
    net = model()

    def back(loss):
        loss.backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)

    train(rank, lambda total, count: total / of_all(count), net, back)


def healthy_by_the_loss_of_all(rank):
    """Brings losses of several tasks to one size."""
    train(rank, lambda total, count: total / of_all(total))


def healthy_by_its_own_count(rank):
    """Both have about as many."""
    train(rank, lambda total, count: total / count.clamp(min=1).float())


def healthy_one_loss_of_all(rank):
    """Each rank has all samples."""
    train(0, lambda total, count: total / of_all(count), rate=0.01)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
