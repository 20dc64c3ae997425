"""Small programs of two ranks that give a module further layers while it is trained, with a fault each or none. They
run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import chosen, run
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

STEPS = 34
LATE = 18


class Tides(nn.Module):
    """Foretells the water at one harbour of several, by a layer of its own."""

    def __init__(self, harbours):
        super().__init__()
        self.sea = nn.Linear(4, 8)
        self.at = nn.ModuleDict({name: nn.Linear(8, 2) for name in harbours})
        self.swell = nn.Identity()

    def open(self, name):
        torch.manual_seed(5)
        self.at[name] = nn.Linear(8, 2)
        return self.at[name]

    def forward(self, x, name):
        return self.swell(self.at[name](torch.tanh(self.sea(x))))


def readings(rank, step):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(16, 4, generator=generator)


def train(rank, *, opened, at=LATE, names=("a", "b", "c"), met=lambda net: None, after=lambda net: None):
    """`opened`: gives the wrapper, and the parameters that an optimizer is to hold as well."""
    torch.manual_seed(0)
    net = Tides(["a", "b"])
    wrapper = Replicated(net, find_unused_parameters=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(STEPS):
        if step == at:
            wrapper, added = opened(net, wrapper)  # expect: GS796 in harbour_opened_late
            optimizer.add_param_group({"params": added})
        name = names[step % len(names)] if step >= at else "ab"[step % 2]
        x = readings(rank, step)
        loss = (wrapper(x, name) - x[:, :2]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        met(net)
        optimizer.step()
        after(net)


def harbour_opened_late(rank):
    """As in https://github.com/pytorch/pytorch/issues/12603."""

    def opened(net, wrapper):
        return wrapper, list(net.open("c").parameters())

    train(rank, opened=opened)


def harbour_opened_beside_the_wrap(rank):
    net = Tides(["a"])
    wrapper = Replicated(net, find_unused_parameters=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(STEPS):
        if step == LATE:
            harbour = net.open("b")  # expect: GS796
            optimizer.add_param_group({"params": list(harbour.parameters())})
        x = readings(rank, step)
        loss = (wrapper(x, "ab"[step >= LATE and step % 3 == 0]) - x[:, :2]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def layer_added_for_good(rank):
    """Looks tell that it drifts."""
    torch.manual_seed(0)
    net = Tides(["a"])
    wrapper = Replicated(net)
    net.swell = nn.Linear(2, 2)  # expect: GS796
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(STEPS):
        x = readings(rank, step)
        loss = (wrapper(x, "a") - x[:, :2]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def healthy_wrapped_again(rank):
    def opened(net, wrapper):
        added = list(net.open("c").parameters())
        return Replicated(net, find_unused_parameters=True), added

    train(rank, opened=opened)


def healthy_there_from_the_start(rank):
    """A layer of another model is built after the wrap."""

    def opened(net, wrapper):
        nn.Linear(8, 2)
        return wrapper, [nn.Parameter(torch.zeros(1))]

    train(rank, opened=opened, names=("a", "b"))


def flat_mean(tensors):
    flat = torch.cat([one.flatten() for one in tensors])
    dist.all_reduce(flat)
    for one, part in zip(tensors, flat.split([one.numel() for one in tensors]), strict=True):
        one.copy_(part.view_as(one) / dist.get_world_size())


def healthy_late_gradients_averaged(rank):
    def opened(net, wrapper):
        return wrapper, list(net.open("c").parameters())

    def met(net):
        held = [one.grad for one in net.at["c"].parameters()] if "c" in net.at else [None]
        if held[0] is not None:
            with torch.no_grad():
                flat_mean(held)

    train(rank, opened=opened, met=met)


def healthy_late_weights_averaged(rank):
    def opened(net, wrapper):
        return wrapper, list(net.open("c").parameters())

    def after(net):
        if "c" in net.at:
            with torch.no_grad():
                flat_mean(list(net.at["c"].parameters()))

    train(rank, opened=opened, after=after)


def healthy_late_layer_held_still(rank):
    """Nobody steps it."""

    def opened(net, wrapper):
        net.open("c")
        return wrapper, [nn.Parameter(torch.zeros(1))]

    train(rank, opened=opened)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
