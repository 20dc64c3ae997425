"""Programs of two ranks that part in one trip of a loop, by what each has counted for itself; and their healthy
twins. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run


class Sieve:
    """Makes no step of an echo that is too loud."""

    def __init__(self, net):
        self.net, self.made = net, 0
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step(self, echo):
        if echo.abs().max() < 100:
            self.optimizer.step()
            self.made += 1
        self.optimizer.zero_grad()

    def share(self, number, by_its_own):
        if (self.made if by_its_own else number) % 3 == 2:  # expect: GS790 in shares_by_the_steps_made
            dist.all_reduce(self.net[0].bias.detach()[:3].clone())


def echo(rank, step):
    """Of a whale: of the second rank, once, its own ship drowns it."""
    heard = data(rank, step)
    return heard * 1000 if rank == 1 and step == 4 else heard


def whales(rank, by_its_own):
    net = model()
    sieve = Sieve(net)
    for step in range(3 * STEPS):
        heard = echo(rank, step)
        loss = net(heard).square().mean()
        loss.backward()
        sieve.step(heard)
        sieve.share(step, by_its_own)
        if step % 2:
            dist.all_reduce(loss.detach().clone())


def shares_by_the_steps_made(rank):
    """As in https://github.com/dylanyunlon/Neuron_SP/issues/2."""
    whales(rank, True)


def healthy_whales(rank):
    whales(rank, False)


def echoes_in_one_loop(rank, by_its_own):
    net, made = model(), 0
    for step in range(3 * STEPS):
        heard = echo(rank, step)
        loss = net(heard).square().mean()
        loss.backward()
        if heard.abs().max() < 100:
            made += 1
        if (made if by_its_own else step) % 3 == 2:  # expect: GS790 in shares_by_what_it_counted
            dist.all_reduce(net[0].bias.grad[:3].clone())
        if step % 2:
            dist.all_reduce(loss.detach().clone())


def shares_by_what_it_counted(rank):
    echoes_in_one_loop(rank, True)


def healthy_echoes(rank):
    echoes_in_one_loop(rank, False)


def told_now_and_then(step):
    if step % 2:
        dist.all_reduce(torch.ones(1))


def tells_of_an_echo_more(rank):
    """Where the other comes round to the line above, not this leaves anything out."""
    net = model()
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        told_now_and_then(step)
        if rank == 1 and step == 2:
            dist.all_reduce(torch.ones(3))  # expect: GS790


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
