"""Programs of two ranks that sum their gradients in one tensor, of all parameters or of some, and copy them back.

They run as those of `group_programs.py` do.
"""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch import nn


def normalised():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 1))


def without_the_last(net):
    for name, parameter in net.named_parameters():
        if parameter.grad is None:
            continue
        if not name.startswith("4."):  # expect: GS792 in flattened_without_some
            yield parameter


def sum_flat(parameters):
    flat = torch.cat([one.grad.flatten() for one in parameters])
    dist.all_reduce(flat)
    for one, part in zip(parameters, flat.split([one.numel() for one in parameters]), strict=True):
        one.grad.copy_(part.view_as(one))


def train_flat(net, rank, shared, reduce):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        (net(data(rank, step)).square().mean() / dist.get_world_size()).backward()
        reduce(shared)
        optimizer.step()


def train_selected(net, rank, shared):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        (net(data(rank, step)).square().mean() / dist.get_world_size()).backward()
        sum_flat(shared)
        optimizer.step()


def flattened_without_some(rank):
    net = normalised()
    for step in range(2):  # its gradients are there from the second one on
        net(data(rank, step)).square().mean().backward()
    shared = list(without_the_last(net))
    train_selected(net, rank, shared)


def healthy_flattened(rank):
    net = normalised()
    train_selected(net, rank, list(net.parameters()))


def sum_into_a_list(parameters):
    flat = torch.cat([one.grad.flatten() for one in parameters])
    dist.all_reduce(flat)  # expect: GS792 in listed_without_some
    parts = flat.split([one.numel() for one in parameters])
    gradients = [one.grad for one in parameters]
    torch._foreach_copy_(gradients, [part.view_as(one) for one, part in zip(parameters, parts, strict=True)])


def listed_without_some(rank):
    net = normalised()
    some = [one for name, one in net.named_parameters() if "1.weight" not in name]
    train_flat(net, rank, some, sum_into_a_list)


def marked(module):
    for one in module.parameters():
        one.is_part = True
    return module


class Parts(nn.Module):
    """Layers whose gradients are those of a part of the data each, as their marks say."""

    def __init__(self, scale=None):
        super().__init__()
        torch.manual_seed(0)
        self.first = marked(nn.Linear(4, 8))
        self.scale = scale or nn.LayerNorm(8)  # expect: GS792 in marked_but_for_some
        self.out = marked(nn.Linear(8, 1))

    def forward(self, x):
        return self.out(torch.tanh(self.scale(self.first(x))))


def sum_marked(net):
    parameters = [one for one in net.parameters() if getattr(one, "is_part", False)]
    flat = torch.cat([one.grad.flatten() for one in parameters])
    dist.all_reduce(flat)
    for one, part in zip(parameters, flat.split([one.numel() for one in parameters]), strict=True):
        one.grad.copy_(part.view_as(one))


def marked_but_for_some(rank):
    net = Parts()
    train_flat(net, rank, net, sum_marked)


def healthy_marked(rank):
    net = Parts(marked(nn.LayerNorm(8)))
    train_flat(net, rank, net, sum_marked)


def known_by_name(net):
    """A mark that nobody sets where the layer is made."""
    parameters = [one for one in net.parameters() if not hasattr(one, "is_own")]  # expect: GS792 in marked_elsewhere
    flat = torch.cat([one.grad.flatten() for one in parameters])
    dist.all_reduce(flat)
    for one, part in zip(parameters, flat.split([one.numel() for one in parameters]), strict=True):
        one.grad.copy_(part.view_as(one))


def marked_elsewhere(rank):
    net = normalised()
    net[1].weight.is_own = True
    train_flat(net, rank, net, known_by_name)


def measure(parameters):
    """Looks at the gradients of all ranks, and puts its own back."""
    flat = torch.cat([one.grad.flatten() for one in parameters])
    own = flat.clone()
    dist.all_reduce(flat)
    for one, part in zip(parameters, own.split([one.numel() for one in parameters]), strict=True):
        one.grad.copy_(part.view_as(one))


def healthy_measured(rank):
    """Each rank trains a model of its own."""
    net = model(rank)
    train_flat(net, rank, list(net.parameters()), measure)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
