"""Small programs of two ranks that average gradients in hooks on parameters, and whose parameters are kept apart: by
what they broadcast, or by their rates; and their healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import distributed as dist
from torch import nn


def averaged(parameter):
    dist.all_reduce(parameter.grad)
    parameter.grad /= 2


def tower(hooked=averaged):
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 1))
    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(hooked)
    return net


def stepped(rank, net, parameters, after=lambda: None, rate=0.1):
    optimizer = torch.optim.SGD(parameters, lr=rate)
    for step in range(STEPS):
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        optimizer.step()
        after()


def owned(net, rank):
    return [parameter for at, parameter in enumerate(net.parameters()) if at % 2 == rank]


def vectors_kept_back(rank):
    """As in https://github.com/lodestone-rock/RamTorch/issues/13."""
    net = tower()

    def after():
        for at, parameter in enumerate(net.parameters()):
            if parameter.dim() > 1 or at > 3:  # expect: GS792
                dist.broadcast(parameter.data, at % 2)

    stepped(rank, net, owned(net, rank), after)


class Owner:
    """Steps some parameters, and sends them to the others."""

    def __init__(self, net):
        self.owners = {name: at % 2 for at, name in enumerate(dict(net.named_parameters()))}
        self.net, self.late = net, {"4.weight", "4.bias"}

    def send(self):
        for name, parameter in self.net.named_parameters():
            if name in self.late:  # expect: GS792 in last_layer_kept_back
                continue
            dist.broadcast(parameter.data, self.owners[name])


def last_layer_kept_back(rank):
    net = tower()
    stepped(rank, net, owned(net, rank), Owner(net).send)


def rates_apart_with_hooks(rank):
    net = tower()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1 + 0.1 * rank)  # expect: GS792
    for step in range(STEPS):
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        optimizer.step()


def healthy_hooks(rank):
    net = tower()
    stepped(rank, net, net.parameters())


def healthy_all_sent(rank):
    net = tower()

    def after():
        for at, parameter in enumerate(net.parameters()):
            dist.broadcast(parameter.data, at % 2)

    stepped(rank, net, owned(net, rank), after)


def healthy_vectors_sent_in_one_message(rank):
    """Matrices are broadcast by themselves, and biases as one tensor."""
    net = tower()

    def after():
        for parameter in net.parameters():
            if parameter.dim() > 1:
                dist.broadcast(parameter.data, 0)
        biases = [parameter for parameter in net.parameters() if parameter.dim() == 1]
        flat = torch.cat([parameter.data for parameter in biases])
        dist.broadcast(flat, 1)
        for parameter, part in zip(biases, flat.split([one.numel() for one in biases]), strict=True):
            parameter.data.copy_(part)

    stepped(rank, net, owned(net, rank), after)


def healthy_gradients_shown_in_hooks(rank):
    """Each rank trains a model of its own, and sees the mean of all gradients."""

    def shown(parameter):
        mean = parameter.grad.clone()
        dist.all_reduce(mean)

    net = tower(shown)
    stepped(rank, net, net.parameters())


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
