"""Small programs of two ranks whose model is put together in an order of its own on each, or in one, run as those of
`group_programs.py` are."""

import sys

import torch
from group_programs import chosen, data, run
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated


class Name(str):
    """A text whose place in a set is another one on each rank, as that of a text is in each process."""

    def __hash__(self):
        return ord(self[0]) * (1 - 2 * dist.get_rank())


NAMES = "abcd"


def names():
    return set(map(Name, NAMES))


def train(net, forward):
    net.forward = forward
    net = Replicated(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        net(data(dist.get_rank(), step)).square().mean().backward()
        optimizer.step()


def buffers_of_a_set(rank):
    net = nn.Linear(4, 1, bias=False)
    for name in set(map(Name, NAMES)):  # expect: GS789
        net.register_buffer(str(name), torch.full((4,), float(ord(name))), persistent=False)
    train(net, lambda x: nn.functional.linear(x * net.a / net.b, net.weight))


def layers_of_a_set(rank):
    torch.manual_seed(0)
    kinds = set(map(Name, NAMES))
    net = nn.ModuleDict({str(kind): nn.Linear(4, 4) for kind in kinds})  # expect: GS789
    train(net, lambda x: sum(net[name](x) for name in NAMES))


def parameters_of_a_set(rank):
    torch.manual_seed(0)
    net = nn.Module()
    order = frozenset(map(Name, NAMES))
    for kind in order:  # expect: GS789
        setattr(net, str(kind), nn.Parameter(torch.randn(4)))
    train(net, lambda x: sum(x * getattr(net, name) for name in NAMES))


class Heads(nn.Module):
    """A head for each name, of one size or of their own."""

    def __init__(self, sizes=(3, 3, 3, 3)):
        super().__init__()
        torch.manual_seed(2)
        self.body = nn.Linear(4, 6)
        self.heads = nn.ModuleDict({name: nn.Linear(6, size) for name, size in zip(NAMES, sizes, strict=True)})

    def asked(self):
        return names() & set(map(Name, NAMES))

    def forward(self, x):
        found = {}
        for name in self.asked():
            found[name] = self.heads[str(name)](self.body(x).tanh())
        return found


def summed(parameters):
    for one in parameters:
        dist.all_reduce(one.grad)  # expect: GS792 in heads_from_the_last_on_one_rank
        one.grad /= dist.get_world_size()


def trained_by_heads(net, exchange):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        optimizer.zero_grad()
        found = net(data(dist.get_rank(), step))
        sum(one.square().mean() for one in found.values()).backward()
        exchange(net, found)
        optimizer.step()


def heads_of_a_set(rank):
    """As in https://github.com/NVIDIA/nvalchemi-toolkit/pull/143."""

    def exchange(net, found):
        summed(net.body.parameters())
        for name in found:  # expect: GS792
            summed(net.heads[str(name)].parameters())

    trained_by_heads(Heads(), exchange)


class Exchange:
    """Knows once for all which heads there are."""

    def __init__(self):
        self.order = list(names() | names())  # expect: GS792 in heads_of_a_list_that_a_set_gave

    def __call__(self, net, found):
        summed(net.body.parameters())
        for name in self.order:
            summed(net.heads[str(name)].parameters())


def heads_of_a_list_that_a_set_gave(rank):
    trained_by_heads(Heads(), Exchange())


def heads_from_the_last_on_one_rank(rank):
    """A set of numbers has one order, and another loop parts the ranks."""

    def exchange(net, found):
        for group in (0, 1):
            parts = [net.heads[name] for name in NAMES[2 * group : 2 * group + 2]]
            for part in parts[:: -1 if rank else 1]:
                summed(part.parameters())
        summed(net.body.parameters())

    trained_by_heads(Heads(), exchange)


def healthy_heads_in_order(rank):
    def exchange(net, found):
        summed(net.body.parameters())
        for name in sorted(found):
            summed(net.heads[str(name)].parameters())

    trained_by_heads(Heads((2, 3, 4, 5)), exchange)


def healthy_layers_in_order(rank):
    torch.manual_seed(0)
    net = nn.ModuleDict({str(kind): nn.Linear(4, 4) for kind in sorted(names())})
    train(net, lambda x: sum(net[name](x) for name in NAMES))


def healthy_buffers_in_order(rank):
    net = nn.Linear(4, 1, bias=False)
    for name in sorted(names()):
        net.register_buffer(str(name), torch.full((4,), float(ord(name))))
    train(net, lambda x: nn.functional.linear(x * net.a / net.b, net.weight))


def healthy_other_parts(rank):
    """Each rank trains a model of its own beside the common one."""
    torch.manual_seed(rank)
    own = nn.ModuleDict({f"{name}{rank}": nn.Linear(4, 4) for name in names()})
    out = sum(own[f"{name}{rank}"](data(rank, 0)) for name in NAMES)
    out.square().mean().backward()
    torch.manual_seed(0)
    net = nn.Linear(4, 1, bias=False)
    train(net, lambda x: nn.functional.linear(x, net.weight))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
