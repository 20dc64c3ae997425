"""Pipelines of two ranks by hand, whose second one receives into a leaf of its own and sends the gradient of that back;
and their healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, data, model, run
from torch import nn

STEPS, PARTS, ROWS, WIDTH = 8, 2, 5, 4


def upstream(number):
    """The first stage: it sends what it gives, part by part, and receives gradients."""
    torch.manual_seed(number)
    stage = nn.Linear(4, WIDTH)
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        given = [stage(data(part, step)) for part in range(PARTS)]
        for one in given:
            dist.send(one.detach(), 1)
        for one in given:
            gradient = torch.empty_like(one)
            dist.recv(gradient, 1)
            one.backward(gradient)
        optimizer.step()


def downstream(fill, send, slots):
    """The second one: `fill` receives into a slot, `send` sends its gradient."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        for slot in slots:
            fill(slot)
            net(slot).square().mean().backward()
        for slot in slots:
            send(slot)
        optimizer.step()


def slots():
    return [torch.zeros(ROWS, WIDTH, requires_grad=True) for _ in range(PARTS)]


def receive(slot):
    dist.recv(slot.data, 0)


def copied(slot):
    room = torch.empty(ROWS, WIDTH)
    dist.recv(room, 0)
    with torch.no_grad():
        slot.copy_(room)


def stages(rank, send, fill=receive, clear=lambda slot: None):
    def filled(slot):
        clear(slot)
        fill(slot)

    if rank == 0:
        upstream(rank)
    else:
        downstream(filled, send, slots())


def slots_never_cleared(rank):
    """As in https://github.com/allenai/OLMo-core/pull/749."""

    def send(slot):
        dist.send(slot.grad.contiguous(), 0)  # expect: GS801

    stages(rank, send)


def copied_and_never_cleared(rank):
    def send(slot):
        dist.isend(slot.grad.clone(), 0).wait()  # expect: GS801

    stages(rank, send, copied)


def healthy_cleared_when_sent(rank):
    def send(slot):
        dist.send(slot.grad, 0)
        slot.grad = None

    stages(rank, send)


def healthy_zeroed_before(rank):
    def clear(slot):
        if slot.grad is not None:
            slot.grad.zero_()

    stages(rank, lambda slot: dist.send(slot.grad, 0), copied, clear)


def healthy_changed_each_time(rank):
    """What is sent is the gradient since the last time: the sum is kept on purpose."""
    sums = {}

    def send(slot):
        dist.send(slot.grad - sums.get(slot, 0.0), 0)
        sums[slot] = slot.grad.clone()

    stages(rank, send)


def healthy_faded(rank):
    """An average over time, which the program makes by hand."""

    def clear(slot):
        if slot.grad is not None:
            slot.grad.mul_(0.5)

    stages(rank, lambda slot: dist.send(slot.grad, 0), receive, clear)


def shown_over_a_run(number, send):
    """One leaf holds the same for all of the run: its gradient may be a sum of all that came of it."""
    for_all = torch.ones(ROWS, WIDTH, requires_grad=True)
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(for_all * data(number, step)).square().mean().backward()
        optimizer.step()
        if number == 1:
            send(for_all.grad)
        else:
            dist.recv(torch.empty(ROWS, WIDTH), 1)


def healthy_sum_of_a_constant(rank):
    shown_over_a_run(rank, lambda gradient: dist.send(gradient.contiguous(), 0))


def healthy_sum_of_a_step(rank):
    """One slot for the parts of a step: what is sent is their sum, and is cleared."""
    shared = torch.zeros(ROWS, WIDTH, requires_grad=True)
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        for part in range(PARTS):
            if rank == 0:
                dist.send(data(part, step)[:, :WIDTH].contiguous(), 1)
            else:
                dist.recv(shared.data, 0)
                net(shared).square().mean().backward()
        if rank == 0:
            dist.recv(torch.empty(ROWS, WIDTH), 1)
        else:
            dist.send(shared.grad, 0)
            shared.grad = None
            optimizer.step()


MANY, LONG = 4, 36


def long_upstream():
    """The first stage of a long run, whose second one waits for all parts before its first backward."""
    torch.manual_seed(0)
    stage = nn.Linear(4, WIDTH)
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    for step in range(LONG):
        optimizer.zero_grad()
        given = [stage(data(part, step)) for part in range(MANY)]
        for one in given:
            dist.isend(one.detach(), 1).wait()
        for one in given:
            gradient = torch.empty_like(one)
            dist.irecv(gradient, 1).wait()
            torch.autograd.backward(one, gradient)
        optimizer.step()


class Desk:
    """The second one: it keeps places for what comes, and their losses until all are there."""

    def __init__(self):
        self.net = model()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.places = [torch.zeros(ROWS, WIDTH, requires_grad=True) for _ in range(MANY)]

    def serve(self, give_back):
        for _ in range(LONG):
            self.optimizer.zero_grad()
            losses = []
            for place in self.places:
                dist.irecv(place.detach(), 0).wait()
                losses.append(self.net(place).square().mean())
            for place, loss in zip(self.places, losses, strict=True):
                loss.backward()
                give_back(place)
            self.optimizer.step()


def served(rank, give_back):
    if rank == 0:
        long_upstream()
    else:
        Desk().serve(give_back)


def long_run_never_cleared(rank):
    served(rank, lambda place: dist.isend(place.grad, 0).wait())  # expect: GS801


def healthy_long_run_cleared(rank):
    def give_back(place):
        gradient, place.grad = place.grad, None
        dist.isend(gradient, 0).wait()

    served(rank, give_back)


def healthy_long_run_of_what_was_added(rank):
    """The sum is kept, and what this round added to it is sent."""
    before = {}

    def give_back(place):
        dist.isend(place.grad - before.get(place, 0.0), 0).wait()
        before[place] = place.grad.clone()

    served(rank, give_back)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
