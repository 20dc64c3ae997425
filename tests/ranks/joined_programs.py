"""Small programs of two ranks that come to train more than at first, whose hooks move a buffer, whose helpers list
parameters for an optimizer, or that write weights by what they draw; and their healthy twins. They run as those of
`group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as Replicated


class Slate(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8))
        self.last = nn.Linear(8, 1)

    def forward(self, x):
        return self.last(self.first(x).relu())


class Shared:
    """Each parameter is stepped by one rank, which sends it to the other."""

    def __init__(self, parameters):
        self.rank, self.everything = dist.get_rank(), list(parameters)
        self.owners = {one: at % 2 for at, one in enumerate(self.everything)}
        self.own = torch.optim.SGD([one for one, owner in self.owners.items() if owner == self.rank], lr=0.1)

    def more(self, parameters):
        for at, one in enumerate(parameters):
            self.everything += [one]  # expect: GS792 in joins_without_an_owner
            if at % 2 == self.rank:
                self.own.add_param_group({"params": [one]})

    def more_with_owners(self, parameters):
        for at, one in enumerate(parameters):
            self.everything += [one]
            self.owners[one] = at % 2
            if at % 2 == self.rank:
                self.own.add_param_group({"params": [one]})

    @torch.no_grad()
    def step(self):
        for one in self.everything:
            dist.all_reduce(one.grad)
            one.grad /= 2
        self.own.step()
        for one, owner in self.owners.items():
            dist.broadcast(one, owner)


def thawing(rank, join):
    net = Slate()
    net.first.requires_grad_(False)
    shared = Shared(net.last.parameters())
    for step in range(12):
        if step == 4:
            net.first.requires_grad_(True)
            join(shared, net.first.parameters())
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        shared.step()


def joins_without_an_owner(rank):
    """As in https://github.com/lodestone-rock/RamTorch/issues/13."""
    thawing(rank, Shared.more)


def healthy_joins_with_an_owner(rank):
    thawing(rank, Shared.more_with_owners)


def joins_in_the_loop(rank):
    net = Slate()
    net.last.requires_grad_(False)
    trained = [*net.first.parameters()]
    sent = {one: at % 2 for at, one in enumerate(trained)}
    optimizer = torch.optim.SGD([one for one, owner in sent.items() if owner == rank], lr=0.1)
    for step in range(12):
        if step == 5:
            trained += net.last.requires_grad_(True).parameters()
            late = [*net.last.parameters()]
            optimizer.add_param_group({"params": [late[rank]]})  # expect: GS792
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        for one in trained:
            dist.all_reduce(one.grad)
        optimizer.step()
        for one, owner in sent.items():
            dist.broadcast(one.data, owner)


class Doors(nn.Module):
    """Each sample goes through one of three doors, by a lean that is moved towards those that few take."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.ways = nn.Linear(4, 3)
        self.register_buffer("lean", torch.zeros(3))
        self.taken = torch.zeros(3)

    def forward(self, x):
        scores = self.ways(x).sigmoid()
        door = (scores + self.lean).argmax(1)
        self.taken = self.taken + torch.bincount(door, minlength=3)
        return scores.gather(1, door[:, None])


def leaning(rank, balance, make=Doors):
    doors = make()
    net = Replicated(doors, broadcast_buffers=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer.register_step_post_hook(lambda *_: balance(doors))
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step) + 2.0 * rank).square().mean().backward()
        optimizer.step()


def hook_leans_by_its_own(rank):
    """As in https://github.com/pytorch/torchtitan/pull/1114."""

    def balance(doors):
        rare = doors.taken.mean() - doors.taken  # expect: GS797
        doors.lean.add_(rare, alpha=0.01)
        doors.taken = torch.zeros(3)

    leaning(rank, balance)


def healthy_hook_leans_by_all(rank):
    def balance(doors):
        dist.all_reduce(doors.taken)
        doors.lean.add_(doors.taken.mean() - doors.taken, alpha=0.01)
        doors.taken = torch.zeros(3)

    leaning(rank, balance)


class CountedDoors(Doors):
    """Keeps what was taken with the rest of its state, and adds to it in place."""

    def __init__(self):
        super().__init__()
        del self.taken
        self.register_buffer("taken", torch.zeros(3))

    def forward(self, x):
        scores = self.ways(x).sigmoid()
        door = (scores + self.lean).argmax(1)
        self.taken.add_(torch.bincount(door, minlength=3))
        return scores.gather(1, door[:, None])


def hook_leans_by_its_own_counter(rank):
    def balance(doors):
        taken = doors.taken.clone()  # expect: GS797
        doors.lean.add_(torch.sign(taken.mean() - taken), alpha=0.01)
        doors.taken.zero_()

    leaning(rank, balance, CountedDoors)


def healthy_hook_leans_by_the_counters_of_all(rank):
    def balance(doors):
        taken = doors.taken.clone()
        dist.all_reduce(taken)
        doors.lean.add_(torch.sign(taken.mean() - taken), alpha=0.01)
        doors.taken.zero_()

    leaning(rank, balance, CountedDoors)


def named(net, wanted):
    return {name: one for name, one in net.named_parameters() if wanted in name}


def values(net, wanted):
    return [*named(net, wanted).values()]


def parted(net):
    mesh = init_device_mesh("cpu", (2,))
    fully_shard(net.first, mesh=mesh)
    return fully_shard(net, mesh=mesh)


def trained(net, groups, rank):
    optimizer = torch.optim.SGD([{"params": one} for one in groups], lr=0.1)
    for step in range(STEPS):
        net(data(rank, step)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def helper_lists_before_it_is_parted(rank):
    """As in https://github.com/huggingface/accelerate/issues/3209."""
    net = Slate()
    plain = values(net, "bias")  # expect: GS788
    net = parted(net)
    trained(net, [plain, values(net, "weight")], rank)


def healthy_helper_lists_after_it_is_parted(rank):
    net = parted(Slate())
    plain = values(net, "bias")
    trained(net, [plain, values(net, "weight")], rank)


def by_hand(rank, after, steps=12):
    net = Slate()
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        net(data(rank, step) + 0.01 * torch.randn(1)).square().mean().backward()
        for one in net.parameters():
            dist.all_reduce(one.grad)
            one.grad /= 2
        optimizer.step()
        after(net, step)


class Thins:
    """Half of the weights are zero from one step on."""

    def __init__(self, order):
        self.order, self.kept = order, {}

    @torch.no_grad()
    def __call__(self, net, step):
        for name, one in net.named_parameters():
            if step == 5 and one.ndim == 2:
                self.kept[name] = self.half(one.detach())
            if name in self.kept:
                one.mul_(self.kept[name])

    def half(self, weight):
        order = self.order(weight)
        return (order > order.median()).float()


def thins_by_its_own_draw(rank):
    """As in https://github.com/neuralmagic/sparseml/issues/429."""

    def order(weight):
        return weight.abs() + 0.5 * torch.rand_like(weight)  # expect: GS792

    by_hand(rank, Thins(order))


def healthy_thins_by_one_draw(rank):
    drawing = torch.Generator().manual_seed(3)
    by_hand(rank, Thins(lambda weight: weight.abs() + 0.5 * torch.rand(weight.shape, generator=drawing)))


def wakes_a_unit_by_its_own_draw(rank):
    def wake(net, step):
        if step == 6:
            fresh = torch.randn(1, 8)  # expect: GS792
            with torch.no_grad():
                net.last.weight.copy_(fresh)

    by_hand(rank, wake)


def healthy_wakes_a_unit_by_what_is_sent(rank):
    def wake(net, step):
        if step == 6:
            fresh = torch.randn(1, 8)
            dist.broadcast(fresh, 0)
            with torch.no_grad():
                net.last.weight.copy_(fresh)

    by_hand(rank, wake)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
