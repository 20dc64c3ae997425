"""Programs of two ranks with a fault in the copies of a model, run as those of `group_programs.py` are."""

import contextlib
import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run, train
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated


def wrapper_bypassed(rank):
    train(Replicated(model()), rank, loss=lambda net, x: net.module(x).square().mean())  # expect: GS796


class Stepping(nn.Sequential):
    def loss(self, x):
        return self(x).square().mean()


def wrapper_bypassed_by_a_method(rank):
    net = Stepping(*model())
    train(Replicated(net), rank, loss=lambda net, x: net.module.loss(x))  # expect: GS796


class Acting(nn.Sequential):
    @torch.no_grad()
    def act(self, x):
        return self(x).sign()

    def judge(self, x, action):
        return (self(x) - action).square().mean()


def wrapper_bypassed_to_act_and_to_learn(rank):
    """What is asked without gradients has none to average."""

    def loss(net, x):
        action = net.module.act(x)
        return net.module.judge(x, action)  # expect: GS796

    train(Replicated(Acting(*model())), rank, loss=loss)


def wrapper_called_and_bypassed(rank):
    inner = nn.ModuleDict({"first": model(), "second": model()})
    inner.forward = inner["first"].forward
    net = Replicated(inner, find_unused_parameters=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        x = data(rank, step)
        out = net(x)
        extra = net.module["second"](x)  # expect: GS791
        optimizer.zero_grad()
        (out.mean() + extra.mean()).backward()
        optimizer.step()


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(1, 1)

    def read(self, x):
        return self.out(x)

    def forward(self, x):
        return self.read(x)


def two_wrappers(rank, read):
    """Trains a body and a head in a wrapper each."""
    both = nn.ModuleList([Replicated(model()), Replicated(Head())])

    def loss(both, x):
        with torch.no_grad():
            aim = both[0].module(x)
        return (read(both[1], both[0](x)) - aim).square().mean()

    train(both, rank, loss=loss)


def second_wrapper_bypassed(rank):
    two_wrappers(rank, lambda head, x: head.module(x))  # expect: GS796


def second_wrapper_bypassed_by_a_method(rank):
    two_wrappers(rank, lambda head, x: head.module.read(x))  # expect: GS796


def no_sync_never_left(rank):
    net = Replicated(model())
    with net.no_sync():  # expect: GS796
        train(net, rank)


def no_sync_at_the_last_as_well(rank):
    """Accumulates over two batches, and leaves no_sync() at the third."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in range(2 * STEPS):
        with contextlib.nullcontext() if batch % 3 == 2 else net.no_sync():  # expect: GS796
            net(data(rank, batch)).square().mean().backward()
        if batch % 2:
            optimizer.step()
            optimizer.zero_grad()


def no_sync_by_a_condition(rank):
    """Means to leave no_sync() at each second batch, and leaves it at each first one."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in range(2 * STEPS):
        alone = contextlib.nullcontext
        if batch % 2 != 0:  # expect: GS796
            alone = net.no_sync
        with alone():
            net(data(rank, batch)).square().mean().backward()
        if (batch + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()


def accumulated(rank, remainder):
    """Chooses what it enters by a line of its own."""
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in range(2 * STEPS):
        context = net.no_sync if batch % 2 != remainder else contextlib.nullcontext  # expect: GS796 in no_sync_chosen
        with context():
            net(data(rank, batch)).square().mean().backward()
        if batch % 2:
            optimizer.step()
            optimizer.zero_grad()


def no_sync_chosen(rank):
    accumulated(rank, 0)


def healthy_no_sync_chosen(rank):
    accumulated(rank, 1)


def held_back(net, batch, remainder):
    if net is None:
        raise ValueError
    if batch % 2 == remainder:  # expect: GS796 in no_sync_by_a_helper
        return contextlib.nullcontext()
    return net.no_sync()


def accumulated_by_a_helper(rank, remainder):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in range(2 * STEPS):
        with held_back(net, batch, remainder):
            net(data(rank, batch)).square().mean().backward()
        if batch % 2:
            optimizer.step()
            optimizer.zero_grad()


def no_sync_by_a_helper(rank):
    accumulated_by_a_helper(rank, 0)


def healthy_no_sync_by_a_helper(rank):
    accumulated_by_a_helper(rank, 1)


def loop(net, optimizer, rank, after=lambda loss, step: None):
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = net(data(rank, step)).square().mean()
        loss.backward()
        optimizer.step()
        after(loss.detach(), step)


def other_learning_rates(rank):
    net = Replicated(model())
    loop(net, torch.optim.SGD(net.parameters(), lr=0.1 * (rank + 1)), rank)  # expect: GS792


def schedule_by_its_own_loss(rank):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)

    def after(loss, step):
        schedule.step(float(step if rank else -step))  # expect: GS792

    loop(net, optimizer, rank, after)


def written_on_each_rank(rank):
    net = Replicated(model())

    def after(loss, step):
        if step == 2:
            torch.manual_seed(rank)
            nn.init.normal_(net.module[2].weight)  # expect: GS792

    loop(net, torch.optim.SGD(net.parameters(), lr=0.1), rank, after)


class Averaged:
    """Keeps averaged weights, and sets a model back to them."""

    def __init__(self, net):
        self.net, self.mean = net, [one.detach().clone() for one in net.parameters()]

    @torch.no_grad()
    def update(self, back):
        for mean, one in zip(self.mean, self.net.parameters(), strict=True):
            mean.lerp_(one, 0.5)
            if back:
                one.copy_(mean)


def set_back_on_rank_0(rank):
    net = Replicated(model())
    averaged = Averaged(net.module)

    def after(loss, step):
        if rank == 0:  # expect: GS792
            averaged.update(back=step == 2)

    loop(net, torch.optim.SGD(net.parameters(), lr=0.1), rank, after)


def healthy_set_back_on_all(rank):
    net = Replicated(model())
    averaged = Averaged(net.module)
    loop(net, torch.optim.SGD(net.parameters(), lr=0.1), rank, lambda loss, step: averaged.update(back=step == 2))


def step_left_out(rank):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = net(data(rank, step)).square().mean()
        loss.backward()
        if rank and step == 2:  # expect: GS792
            continue
        optimizer.step()


def criterion_beside_the_wrapper(rank):
    net = Replicated(model())
    scale = nn.Linear(1, 1)  # expect: GS792
    optimizer = torch.optim.SGD([*net.parameters(), *scale.parameters()], lr=0.1)
    loop(lambda x: scale(net(x)), optimizer, rank)


def biases_forgotten_by_hand(rank):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        for parameter in net.parameters():
            if parameter.dim() > 1:  # expect: GS792
                dist.all_reduce(parameter.grad)
                parameter.grad /= 2
        optimizer.step()


def unfrozen_after_the_wrap(rank):
    net = model()
    net[0].weight.requires_grad_(False)
    wrapped = Replicated(net)  # expect: GS796
    net[0].weight.requires_grad_(True)
    train(wrapped, rank)


def reduced_by_hand_from_other_starts(rank):
    net = model(seed=rank)  # expect: GS795
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= 2
        optimizer.step()


def loaded_on_one_rank(rank):
    net = Replicated(model())  # expect: GS795
    if rank == 0:
        net.module.load_state_dict(model(seed=5).state_dict())
    train(net, rank)


def evaluated(net):
    net.eval()
    with torch.no_grad():
        net(data(0, 0))
    net.train()


def resume(net, optimizer, state):
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])


def resumed_on_rank_0(rank):
    def stage(state):
        net = model()
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        if rank == 0 and state:  # expect: GS792
            resume(net, optimizer, state)
        loop(Replicated(net), optimizer, rank)
        if rank == 0:
            evaluated(net)
            state = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
        dist.barrier()
        return state

    stage(stage({}))


WIDE, MANY, ROUNDS = 256, 6000, 24
LENGTHS = [*range(8, 8 + ROUNDS), *range(MANY, MANY + ROUNDS)]


def rows(length):
    return torch.randn(length, WIDE)


def by_length(sampler):
    """Trains on batches that are sorted by their length, of which a sampler gives each rank a part."""
    torch.manual_seed(0)
    net = Replicated(nn.Sequential(nn.Linear(WIDE, WIDE), nn.Tanh(), nn.Linear(WIDE, 1)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    loader = torch.utils.data.DataLoader(LENGTHS, batch_size=None, sampler=sampler, collate_fn=rows)
    for x in loader:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()


def long_ones_on_one_rank(rank):
    class Halves(torch.utils.data.Sampler):
        def __init__(self, rank):
            self.places = range(len(LENGTHS))[rank * ROUNDS : (rank + 1) * ROUNDS]  # expect: GS798

        def __iter__(self):
            return iter(self.places)

    by_length(Halves(rank))


class Centred(nn.Module):
    """Subtracts a running mean that it keeps by hand."""

    def __init__(self, persistent=True):
        super().__init__()
        self.register_buffer("centre", torch.zeros(4), persistent=persistent)
        self.inner = model()

    def forward(self, x):
        with torch.no_grad():
            self.centre.lerp_(self.of_batch(x), 0.1)  # expect: GS797 in buffer_of_its_own
        return self.inner(x - self.centre)

    def of_batch(self, x):
        return x.mean(0)


def with_statistics():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))


def statistics_of_its_own(rank):
    torch.manual_seed(0)
    train(Replicated(with_statistics(), broadcast_buffers=False), rank)  # expect: GS797


def buffer_of_its_own(rank):
    train(Replicated(Centred(), broadcast_buffers=False), rank)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
