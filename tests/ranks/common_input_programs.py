"""Programs of two tensor-parallel ranks that draw their part of each layer themselves, so that no part is cut out of a
whole, with a fault each or none. They run as those of `group_programs.py` do."""

import math
import sys

import torch
import torch.distributed as dist
from group_programs import chosen, run
from torch import nn
from torch.nn import functional

STEPS = 9
WIDE, PART = 6, 4


class Enter(torch.autograd.Function):
    """Lets in what all ranks have: its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad


class Leave(torch.autograd.Function):
    """Puts together what ranks have made."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def as_it_is(x):
    return x


def spread(x):
    """Lets in by a hook, which sums as well."""

    def summed(grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad

    y = x.view_as(x)
    y.register_hook(summed)
    return y


def drawn(seed, *shape):
    draws = torch.Generator().manual_seed(seed)
    return nn.Parameter(torch.randn(*shape, generator=draws) / math.sqrt(shape[-1]))


def train(parameters, loss, seed=5):
    """All ranks see the same samples, but for other seeds."""
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    draws, answers = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(9)
    for step in range(STEPS):
        x = torch.randn(8, 5, generator=draws)
        optimizer.zero_grad()
        loss(x, torch.randn(8, 3, generator=answers), step).backward()
        optimizer.step()


def orders(rank, enter, since=0):
    """Words of orders of a kitchen, by functions of a dict of weights: a table, a block around which they also go."""
    weights = {
        "table": drawn(1, 11, WIDE),
        "scale": nn.Parameter(torch.ones(WIDE)),
        "up": drawn(20 + rank, PART, WIDE),
        "down": drawn(30 + rank, WIDE, PART),
        "out": drawn(2, 3, WIDE),
    }

    def block(h):
        usual = functional.layer_norm(h, (WIDE,), weights["scale"])
        inner = torch.tanh(enter(usual) @ weights["up"].t())  # expect: GS792 in orders_of_shares, orders_of_shares_late
        return Leave.apply(inner @ weights["down"].t())

    def loss(x, y, step):
        h = functional.embedding(x.argsort(1), weights["table"]).mean(1)
        if step >= since:
            h = h + block(h)
        return functional.mse_loss(h @ weights["out"].t(), y)

    train(weights.values(), loss)


def orders_of_shares(rank):
    """As in https://github.com/fangwei123456/spikingjelly/pull/704."""
    orders(rank, as_it_is)


def healthy_orders(rank):
    orders(rank, Enter.apply)


def healthy_orders_by_a_hook(rank):
    orders(rank, spread)


def orders_of_shares_late(rank):
    orders(rank, as_it_is, since=5)


def healthy_orders_late(rank):
    orders(rank, Enter.apply, since=5)


class Attends(nn.Module):
    """Heads of each rank look at buoys, around which nothing goes: one of three layers may not let its input in."""

    def __init__(self, rank, enter):
        super().__init__()
        self.enter = enter
        self.reads = drawn(1, WIDE, 5)
        self.asks, self.keys, self.values = (drawn(40 + 2 * at + rank, PART, WIDE) for at in range(3))
        self.joins = drawn(50 + rank, 3, PART)

    def forward(self, x):
        h = torch.relu(functional.linear(x, self.reads))
        given = Enter.apply(h)
        asked, keys = given @ self.asks.T, given @ self.keys.T
        values = torch.mm(self.enter(h), self.values.T)  # expect: GS792 in buoys_with_one_share
        found = torch.softmax(asked @ keys.T / 2, dim=-1) @ values
        return Leave.apply(found @ self.joins.T)


def buoys(rank, enter):
    net = Attends(rank, enter)
    train(net.parameters(), lambda x, y, step: (net(x) - y).square().mean())


def buoys_with_one_share(rank):
    """As in https://github.com/NVIDIA/Megatron-LM/issues/1446."""
    buoys(rank, as_it_is)


def healthy_buoys(rank):
    buoys(rank, Enter.apply)


class Passes(torch.autograd.Function):
    """Looks as if it let in, and sums nothing on the way back."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad  # expect: GS792 in grids_that_pass


def grids(rank, enter):
    """Filters of each rank over grids of heat, beside which an average of the same goes to the loss."""
    torch.manual_seed(4)
    stem, out = nn.Conv1d(1, WIDE, 3, padding=1), nn.Linear(WIDE, 3)
    torch.manual_seed(60 + rank)
    wide, narrow = nn.Conv1d(WIDE, PART, 3, padding=1, bias=False), nn.Conv1d(PART, WIDE, 1, bias=False)

    def loss(x, y, step):
        h = functional.silu(stem(x[:, None]))
        through = Leave.apply(narrow(functional.gelu(wide(enter(h)))))
        return functional.mse_loss(out(through.amax(2)), y) + 0.1 * h.mean().square()

    train([one for part in (stem, out, wide, narrow) for one in part.parameters()], loss)


def grids_that_pass(rank):
    grids(rank, Passes.apply)


def healthy_grids(rank):
    grids(rank, Enter.apply)


def microphones(rank, *, beside=False, seed=5):
    """Each rank hears by its own microphone, and has layers for it that began alike; what they made is put together."""
    own = [drawn(1, WIDE, 5), drawn(70 + rank, PART, WIDE)]
    common = [drawn(2, 3, PART), drawn(3, PART, 3)]

    def loss(x, y, step):
        heard = torch.relu(x @ own[0].T) @ own[1].T
        found = Leave.apply(heard)
        if beside:
            found = found + y.flip(0) @ common[1].T
        return (found @ common[0].T - y).square().mean()

    train([*own, *(common if beside else common[:1])], loss, seed)


def healthy_own_microphones(rank):
    microphones(rank, seed=80 + rank)


def healthy_own_microphones_beside_a_note(rank):
    microphones(rank, beside=True, seed=80 + rank)


def healthy_ensemble(rank):
    """Members of an ensemble see the same, began alike in part, and each is by itself."""
    microphones(rank)


def healthy_cut_from_what_is_beside(rank):
    """What goes around the part is not trained by it."""
    grids(rank, lambda h: Enter.apply(h.detach()))


def healthy_probes(rank):
    """A probe that a rank drew for itself, and that begins with nothing, beside layers that are parted well."""
    first, second = drawn(90, PART, WIDE), nn.Parameter(torch.zeros(WIDE, PART))
    base, up, down, out = (
        drawn(1, WIDE, 5),
        drawn(20 + rank, PART, WIDE),
        drawn(30 + rank, WIDE, PART),
        drawn(2, 3, WIDE),
    )

    def loss(x, y, step):
        h = torch.tanh(x @ base.T)
        h = h + Leave.apply(torch.relu(Enter.apply(h) @ up.T) @ down.T) + h @ first.T @ second.T
        return (h @ out.T - y).square().mean()

    train([first, second, base, up, down, out], loss)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
