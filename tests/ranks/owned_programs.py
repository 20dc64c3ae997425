"""Small programs of two ranks whose optimizers hold parameters of their own, which they broadcast after each step: the
gradients of these are scaled by a norm of these alone; and their healthy twins. They run as those of
`group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import distributed as dist
from torch import nn

BOUND = 0.05


def tower():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 1))


def every_other(net):
    """Weights to one rank, and biases to the other."""
    return {parameter: at % 2 for at, parameter in enumerate(net.parameters())}


def by_layers(net):
    """The first layer to one rank, and the others to the other."""
    return {parameter: int(at > 1) for at, parameter in enumerate(net.parameters())}


def owning(rank, scale, owners_of=every_other, collect=dist.all_reduce):
    net = tower()
    owners = owners_of(net)
    own = [parameter for parameter, owner in owners.items() if owner == rank]
    optimizer = torch.optim.SGD(own, lr=0.1)
    for step in range(STEPS):
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        for parameter, owner in owners.items():
            if collect is dist.reduce:
                dist.reduce(parameter.grad, owner)
            else:
                collect(parameter.grad)
        scale(own, net)
        optimizer.step()
        for parameter, owner in owners.items():
            dist.broadcast(parameter.data, owner)


def owners_scale_by_their_own(rank):
    """As in https://github.com/sgl-project/SpecForge/pull/663."""

    def scale(own, net):
        total = torch.stack([parameter.grad.norm() for parameter in own]).norm()  # expect: GS784
        for parameter in own:
            parameter.grad.mul_(torch.clamp(BOUND / total, max=1.0))

    owning(rank, scale, collect=dist.reduce)


def owners_clip_their_own(rank):
    def scale(own, net):
        nn.utils.clip_grad_norm_(own, BOUND)  # expect: GS784

    owning(rank, scale)


def owner_of_most_layers_scales(rank):
    def scale(own, net):
        total = sum(parameter.grad.square().sum() for parameter in own)  # expect: GS784
        for parameter in own:
            parameter.grad.div_(1.0 + total.sqrt())

    owning(rank, scale, by_layers, dist.reduce)


def healthy_owners_exchange_their_squares(rank):
    def scale(own, net):
        total = torch.stack([parameter.grad.square().sum() for parameter in own]).sum()
        dist.all_reduce(total)
        for parameter in own:
            parameter.grad.mul_(torch.clamp(BOUND / total.sqrt(), max=1.0))

    owning(rank, scale, collect=dist.reduce)


def healthy_owners_know_all_gradients(rank):
    """Takes the norm of all gradients, which every rank has, and scales its own."""

    def scale(own, net):
        total = torch.zeros(())
        for parameter in net.parameters():
            total += parameter.grad.square().sum()
        for parameter in own:
            parameter.grad.mul_(torch.clamp(BOUND / total.sqrt(), max=1.0))

    owning(rank, scale)


def healthy_owners_clip_all(rank):
    owning(rank, lambda own, net: nn.utils.clip_grad_norm_(net.parameters(), BOUND))


def healthy_owners_clip_layer_by_layer(rank):
    """Each layer has a bound of its own, whoever steps it."""

    def scale(own, net):
        for layer in (net[0], net[2], net[4]):
            if layer.weight in set(own):
                nn.utils.clip_grad_norm_(layer.parameters(), BOUND)

    owning(rank, scale, by_layers)


def healthy_owners_scale_each_by_itself(rank):
    def scale(own, net):
        for parameter in own:
            parameter.grad.div_(parameter.grad.norm() + 1.0)

    owning(rank, scale)


def healthy_owners_share_layers_that_thaw(rank):
    """Each owner's optimizer takes in its own of the layers that learn from the middle on, and all are broadcast."""
    net = tower()
    owners = every_other(net)
    net[:3].requires_grad_(False)
    learning = [parameter for parameter in net.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam([one for one in learning if owners[one] == rank], lr=0.01)
    for step in range(4 * STEPS):
        if step == 2 * STEPS:
            net[:3].requires_grad_(True)
            thawed = [parameter for parameter in owners if parameter not in set(learning)]
            learning += thawed
            optimizer.add_param_group({"params": [one for one in thawed if owners[one] == rank]})
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        for parameter in learning:
            dist.all_reduce(parameter.grad)
        optimizer.step()
        with torch.no_grad():
            for parameter in learning:
                dist.broadcast(parameter, owners[parameter])


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
