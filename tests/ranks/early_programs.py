"""Small programs of two ranks that exchange gradients before the last backward call of a step: what later ones add
stays each rank's own; and their healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
from between_programs import gradients, stepping_alone, summed_in_place
from group_programs import STEPS, chosen, data, model, run
from torch import distributed as dist

PARTS = 3


def averaged(net):
    if dist.get_world_size() > 1:
        for gradient in gradients(net):
            gradient.div_(dist.get_world_size())
            dist.all_reduce(gradient)


class Exchange:
    """Averages each gradient in one part of a step, by its own count of parts, which begins at `first`."""

    def __init__(self, net, first):
        self.seen = dict.fromkeys(net.parameters(), first)
        for parameter in net.parameters():
            parameter.register_post_accumulate_grad_hook(self.meet)

    def meet(self, parameter):
        self.seen[parameter] += 1
        if self.is_last(parameter):  # expect: GS792 in hook_counts_from_one_below_zero
            self.average(parameter)

    def is_last(self, parameter):
        return self.seen[parameter] % PARTS == 0

    def average(self, parameter):
        parameter.grad.mul_(0.5)
        dist.all_reduce(parameter.grad)


def hook_counts_from_one_below_zero(rank):
    """The first part is taken for the last. As in https://github.com/modelscope/FunASR/pull/3472."""
    net = model()
    Exchange(net, -1)
    stepping_alone(net, rank)


def healthy_hook_counts_to_the_last(rank):
    net = model()
    Exchange(net, 0)
    stepping_alone(net, rank)


def hook_meets_until_it_is_told_to_stop(rank):
    """A switch, and no count, says when: the line is that of the sum."""
    net = model()
    is_on = [True]

    def meet(parameter):
        if is_on:
            parameter.grad.mul_(0.5)
            dist.all_reduce(parameter.grad)  # expect: GS792

    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(meet)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(STEPS):
        is_on[:] = [True]
        net(data(rank, step)).square().mean().backward()
        is_on.clear()
        net(data(rank, step) + 0.1).abs().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def meets_in_the_first_part(rank):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for at in range(STEPS * PARTS):
        loss = net(data(rank, at)).square().mean() / PARTS
        loss.backward()
        if at % PARTS == 0:  # expect: GS792
            averaged(net)
        if (at + 1) % PARTS == 0:
            optimizer.step()
            optimizer.zero_grad()


def healthy_meets_in_the_last_part(rank):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for at in range(STEPS * PARTS):
        loss = net(data(rank, at)).square().mean() / PARTS
        loss.backward()
        if (at + 1) % PARTS == 0:
            averaged(net)
            optimizer.step()
            optimizer.zero_grad()


def meets_before_the_penalty(rank):
    """A second loss comes after the gradients of the first one were averaged."""
    net = model()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        averaged(net)  # expect: GS792
        net(data(rank, step) + 0.1).abs().mean().backward()
        optimizer.step()


def healthy_penalty_that_all_have(rank):
    """What is added to the averages is the same on all ranks."""
    net = model()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        averaged(net)
        sum(parameter.square().sum() for parameter in net.parameters()).mul(0.01).backward()
        optimizer.step()


def rates_beside_a_penalty_that_all_have(rank):
    """What parts the copies is not what is added behind the exchange."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1 * (rank + 1))  # expect: GS792
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        averaged(net)
        sum(parameter.square().sum() for parameter in net.parameters()).mul(0.01).backward()
        optimizer.step()


def writes_beside_a_penalty_that_all_have(rank):  # expect: GS792
    """As above, and no line is known: weights are written past the operators that a recording sees."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        averaged(net)
        sum(parameter.square().sum() for parameter in net.parameters()).mul(0.01).backward()
        optimizer.step()
        net[0].bias.detach().numpy()[:] += 0.01 * rank


def healthy_judge_that_another_loss_goes_through(rank):
    """The other net's loss adds to the judge's gradients before they are cleared for its own."""
    net, judge = model(), torch.nn.Linear(1, 1)
    with torch.no_grad():
        judge.weight.fill_(0.5)
        judge.bias.zero_()
    ours = torch.optim.SGD(net.parameters(), lr=0.05)
    theirs = torch.optim.SGD(judge.parameters(), lr=0.05)
    for step in range(STEPS):
        theirs.zero_grad()
        judge(net(data(rank, step)).detach()).square().mean().backward()
        summed_in_place(judge)
        torch._foreach_div_(gradients(judge), 2)
        theirs.step()
        ours.zero_grad()
        judge(net(data(rank, step))).square().mean().backward()
        averaged(net)
        ours.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
