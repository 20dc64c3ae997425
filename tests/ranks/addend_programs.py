"""Small programs of two ranks that each compute a part of a result, which are summed: what all of them have alike is
added to each part, or to the sum. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, run
from parallel_programs import Enter, Leave, total
from torch import nn
from torch.nn import functional

WIDTH, HIDDEN, WORLD = 6, 12, 2


def drawn(*shape):
    return (torch.randn(*shape) / shape[0] ** 0.5).requires_grad_()


def own(rank, whole, dim):
    return whole.detach().chunk(WORLD, dim)[rank].clone().requires_grad_()


def days(step, n=8):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(n, WIDTH, generator=generator), torch.randint(5, (n,), generator=generator)


def learn(weights, foretell, loss=lambda given: (given - 1.0).square().mean()):
    optimizer = torch.optim.SGD(weights, lr=0.02)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss(foretell(*days(step))).backward()
        optimizer.step()


def rainfall(rank, put):
    """Some sensors on each rank, and a table of the months; nothing names the weights."""
    torch.manual_seed(3)
    held = [own(rank, drawn(WIDTH, HIDDEN), 0), drawn(5, HIDDEN), drawn(HIDDEN, 1)]

    def foretell(x, month):
        mine = x.chunk(WORLD, 1)[rank]
        return torch.tanh(put(mine @ held[0], functional.embedding(month, held[1]))) @ held[2]

    learn(held, foretell)


def rain_with_months_in_each_part(rank):
    def put(part, month):
        part = part + month  # expect: GS799
        return Leave.apply(part)

    rainfall(rank, put)


def healthy_rain_with_months_after_the_sum(rank):
    rainfall(rank, lambda part, month: Leave.apply(part) + month)


def healthy_rain_with_shares_of_months(rank):
    rainfall(rank, lambda part, month: Leave.apply(part + month / WORLD))


def healthy_rain_with_months_of_one_rank(rank):
    rainfall(rank, lambda part, month: Leave.apply(part + month * (rank == 0)))


def healthy_rain_of_means(rank):
    rainfall(rank, lambda part, month: Leave.apply(part + month) / WORLD)


class Block(nn.Module):
    """A part of the hidden features on each rank; `join` says what the parts are put together with."""

    def __init__(self, rank, join):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Parameter(own(rank, nn.Linear(WIDTH, HIDDEN).weight, 0))
        self.down = nn.Parameter(own(rank, nn.Linear(HIDDEN, WIDTH).weight, 1))
        self.past = nn.Linear(WIDTH, WIDTH, bias=False)
        self.join = join

    def forward(self, x):
        hidden = functional.relu(functional.linear(Enter.apply(self.norm(x)), self.up))
        return self.join(self, x, functional.linear(hidden, self.down))


def soils(rank, join):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(WIDTH, WIDTH), Block(rank, join), nn.Tanh(), nn.Linear(WIDTH, 1))
    learn(net.parameters(), lambda x, month: net(x))


class Gathered(torch.autograd.Function):
    """The sum of what ranks have, and what they have alike."""

    @staticmethod
    def forward(ctx, x, part):
        out = torch.empty_like(part)
        torch.add(part, x, out=out)  # expect: GS799 in soil_with_its_input_in_a_function
        dist.all_reduce(out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        return gradient, gradient


def soil_with_its_input_in_a_function(rank):
    soils(rank, lambda block, x, part: Gathered.apply(x, part))


def soil_with_a_way_past_in_each_part(rank):
    def join(block, x, part):
        part += block.past(x)  # expect: GS799
        return Leave.apply(part)

    soils(rank, join)


def healthy_soil_with_a_way_past_the_sum(rank):
    soils(rank, lambda block, x, part: Leave.apply(part) + block.past(x))


def healthy_soil_that_takes_it_off_again(rank):
    def join(block, x, part):
        return Leave.apply(part + x) - (WORLD - 1) * x

    soils(rank, join)


def healthy_soil_with_weighed_inputs(rank):
    soils(rank, lambda block, x, part: Leave.apply(torch.add(part, x, alpha=1 / WORLD)))


def healthy_wells_of_own_sensors(rank):
    """One reader for the sensors of all, of which each rank has its own, and a head for those; the readers' gradients
    are put together."""
    torch.manual_seed(1)
    reads, head = drawn(WIDTH // 2, 4), own(rank, drawn(4, 8), 1)
    weights = [reads, head]
    optimizer = torch.optim.SGD(weights, lr=0.02)
    for step in range(STEPS):
        optimizer.zero_grad()
        x = torch.tanh(days(step)[0].chunk(WORLD, 1)[rank] @ Enter.apply(reads))
        (Leave.apply(x @ head + x) - 1.0).square().mean().backward()
        optimizer.step()


def healthy_experts(rank):
    """Each rank answers for the rows that are its own, and what was put in stays beside it."""
    torch.manual_seed(2)
    first, expert = drawn(WIDTH, 4), own(rank, drawn(4, 8), 1)

    def foretell(x, month):
        x = Enter.apply(x @ first)
        mine = (month % WORLD == rank)[:, None]
        return Leave.apply(torch.where(mine, x @ expert + x, 0.0))

    learn([first, expert], foretell)


def healthy_total_of_losses(rank):
    """What is summed is shown."""
    torch.manual_seed(4)
    first, mine = drawn(WIDTH, 4), own(rank, drawn(4, 8), 1)

    def foretell(x, month):
        hidden = Enter.apply(x @ first)
        given = Leave.apply((hidden @ mine).tanh())
        total((mine.detach().square().sum() + first.detach().square().sum())[None])
        return given

    learn([first, mine], foretell)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
