"""Small programs of two ranks that part by what stands in another function: an end asked for far from the backward, a
generator that leaves a batch out, an object of many that forbids a step; and their healthy twins."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch.nn.parallel import DistributedDataParallel as Replicated

BROKEN = 3  # the batch of rank 1 that is unlike the others


def rows(of):
    for step in range(STEPS):
        yield data(of, step) * (0.01 if (of, step) == (1, BROKEN) else 1.0)


def loud(x):
    return bool(x.abs().mean() > 0.1)


def loud_for_all(x):
    quiet = (x.abs().mean() <= 0.1).float()
    dist.all_reduce(quiet)
    return not quiet.item()


def learned(net, optimizer, x):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def trained(batches):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in batches:
        learned(net, optimizer, x)
    return net.module[0].weight.norm()


def passed_over(stream):
    for x in stream:
        if not loud(x):  # expect: GS791 in passes_over_quiet_rows
            continue
        yield x / x.std()


def passes_over_quiet_rows(rank):
    trained(passed_over(rows(rank)))


def filters_quiet_rows(rank):
    kept = filter(loud, rows(rank))  # expect: GS791
    trained(kept)


def keeps_loud_rows(rank):
    trained(x - x.mean() for x in rows(rank) if loud(x))  # expect: GS791


def healthy_filters_together(rank):
    trained(filter(loud_for_all, rows(rank)))


def healthy_leaves_out_in_the_loss(rank):
    net = Replicated(model())
    for x in rows(rank):
        (net(x).square().mean() * loud(x)).backward()
    trained(list(rows(rank)))


def fitted(rank, worst, together=False):
    """Trains until a measure of what is held out becomes too large, and ends with that of all."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        learned(net, optimizer, data(rank, step))
        measure = torch.tensor(float(rank * step))
        if together:
            dist.all_reduce(measure)
        if measure.item() > worst:  # expect: GS791 in ends_by_its_own_measure
            break
    return net.module(data(rank, STEPS)).mean()


def ends_by_its_own_measure(rank):
    fitted(rank, 2.0)


def healthy_ends_together(rank):
    fitted(rank, 2.0, together=True)


class Hook:
    def allows(self, loss):
        return True


class Sums(Hook):
    def __init__(self, net):
        self.net = net

    def allows(self, loss):
        for parameter in self.net.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= 2
        return True


class Calm(Hook):
    def __init__(self, most=0.5):
        self.most = most

    def allows(self, loss):
        return loss.item() < self.most  # expect: GS792 in forbidden_by_one_of_many


class CalmForAll(Calm):
    def allows(self, loss):
        loss = loss.detach().clone()
        dist.all_reduce(loss, op=dist.ReduceOp.MAX)
        return super().allows(loss)


def stepped(rank, *hooks):
    net = model()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    objects = [Sums(net), *(hook() for hook in hooks), Hook()]
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = net(data(rank, step)).square().mean() + (rank and step in (1, BROKEN))
        loss.backward()
        if not [one for one in objects if not one.allows(loss)]:
            optimizer.step()


def forbidden_by_one_of_many(rank):
    stepped(rank, Calm)


def healthy_forbidden_together(rank):
    stepped(rank, CalmForAll)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
