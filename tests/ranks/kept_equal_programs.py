"""Small programs of two ranks that exchange gradients in forms of their own, so that nothing but equal weights tells of
it, and go apart later; and their healthy twins, and those that go on alone on purpose."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, data, model, run

MANY = 20
ODD = 10  # the step at which rank 1 has an odd batch
WARM = 9  # steps that all make together


class Flat:
    """Adds gradients up in one tensor, averages that, and gives each parameter a new gradient of it."""

    def __init__(self, net):
        self.parameters = list(net.parameters())
        self.sum = torch.zeros(sum(one.numel() for one in self.parameters))
        self.rows = 0

    def add(self):
        self.sum = self.sum + torch.cat([one.grad.double().flatten() for one in self.parameters]).float()
        self.rows += 1

    def average(self):
        dist.all_reduce(self.sum)
        self.sum = self.sum / dist.get_world_size()

    def give(self):
        sizes = [one.numel() for one in self.parameters]
        for one, part in zip(self.parameters, (self.sum / self.rows).split(sizes), strict=True):
            one.grad = part.reshape(one.shape).clone()
        self.sum, self.rows = torch.zeros_like(self.sum), 0


def started(rate=0.05):
    net = model()
    return net, torch.optim.SGD(net.parameters(), lr=rate, momentum=0.5), Flat(net)


def computed(net, optimizer, x):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    return loss.detach()


def is_odd(loss, together=False):
    if together:
        dist.all_reduce(loss, op=dist.ReduceOp.MAX)
    return loss.item() > 3.0  # expect: GS792 in steps_unless_its_loss_is_odd


def stepped_unless_odd(rank, together):
    net, optimizer, flat = started()
    for step in range(MANY):
        optimizer.zero_grad()
        loss = (net(data(rank, step)) - 9.0 * (step == ODD and rank)).square().mean()
        loss.backward()
        flat.add()
        flat.average()
        flat.give()
        if not is_odd(loss.detach(), together):
            optimizer.step()


def steps_unless_its_loss_is_odd(rank):
    stepped_unless_odd(rank, together=False)


def healthy_steps_unless_a_loss_is_odd(rank):
    stepped_unless_odd(rank, together=True)


def rests(rank, average_rest):
    """Steps after every second batch, and at the end of an epoch of five."""
    net, optimizer, flat = started()
    for step in range(2 * MANY):
        computed(net, optimizer, data(rank, step))
        flat.add()
        if step % 7 % 2:
            flat.average()
            flat.give()
            optimizer.step()
        elif step % 7 == 6 and step > WARM:
            if average_rest:
                flat.average()
            flat.give()
            optimizer.step()  # expect: GS792 in steps_by_its_own_rest


def steps_by_its_own_rest(rank):
    rests(rank, average_rest=False)


def healthy_averages_the_rest(rank):
    rests(rank, average_rest=True)


def healthy_local_after_the_warm_up(rank):
    """Averages weights every fourth step, once it has warmed up."""
    net, optimizer, flat = started()
    for step in range(2 * MANY):
        computed(net, optimizer, data(rank, step))
        if step < WARM:
            flat.add()
            flat.average()
            flat.give()
        optimizer.step()
        if step >= WARM and step % 4 == 3:
            for one in net.parameters():
                dist.all_reduce(one.data)
                one.data /= 2


def healthy_goes_on_alone(rank):
    """Trains a model of each rank's own from one that all have made, and leaves odd batches out of it."""
    net, optimizer, flat = started()
    for step in range(2 * MANY):
        loss = computed(net, optimizer, data(rank, step))
        if step < WARM:
            flat.add()
            flat.average()
            flat.give()
        if step < WARM or loss.item() < 0.2 + rank:
            optimizer.step()


def healthy_replays_without_exchange(rank):
    """All have the same batches in the last epoch, and need not meet."""
    net, optimizer, flat = started()
    for step in range(2 * MANY):
        together = step >= WARM
        computed(net, optimizer, data(0 if together else rank, step))
        flat.add()
        if not together:
            flat.average()
        flat.give()
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
