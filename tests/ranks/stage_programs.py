"""Small programs of two ranks that train parts of one model, or copies, which nothing of torch's keeps alike.

They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch import nn

SYMBOLS, WIDTH = 6, 4


class Reads(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table, self.mix = table, nn.Linear(WIDTH, WIDTH)

    def forward(self, symbols):
        return self.mix(self.table[symbols])


class Gives(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, x):
        return torch.tanh(x) @ self.table.t()


def step_of(stage, rank, symbols):
    other = 1 - rank
    if rank == 0:
        out = stage(symbols)
        dist.send(out.detach(), other)
        gradient = torch.empty_like(out)
        dist.recv(gradient, other)
        out.backward(gradient)
    else:
        x = torch.empty(len(symbols), WIDTH)
        dist.recv(x, other)
        x.requires_grad_()
        nn.functional.cross_entropy(stage(x), symbols.flip(0)).backward()
        dist.send(x.grad, other)


def train(rank, meet=lambda stage: None, after=lambda stage: None, same=True, steps=STEPS, before=lambda: None):
    torch.manual_seed(rank)
    stage = (Gives if rank else Reads)(nn.Parameter(torch.randn(SYMBOLS, WIDTH)))
    if same:
        dist.broadcast(stage.table.data, src=0)
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.1)
    for step in range(steps):
        torch.manual_seed(step)
        optimizer.zero_grad()
        before()
        step_of(stage, rank, torch.randint(SYMBOLS, (8,)))
        meet(stage)
        optimizer.step()  # expect: GS792 in table_trained_by_each_stage, table_beside_what_is_shown
        after(stage)


def table_trained_by_each_stage(rank):
    """As in https://github.com/uw-syfi/piper/issues/13."""
    train(rank)


def table_beside_what_is_shown(rank):
    train(rank, after=lambda stage: dist.all_reduce(stage.table.detach().norm().reshape(1)))


def healthy_gradients_of_the_table_summed(rank):
    train(rank, meet=lambda stage: dist.all_reduce(stage.table.grad))


def healthy_first_stage_that_is_given_more(rank):
    """The rows of a stage are no batch of a copy: the second one computes longer, of less."""

    def meet(stage):
        dist.all_reduce(stage.table.grad)

    train(rank, meet=meet, steps=24, before=lambda: rank and torch.randn(400, 400) @ torch.randn(400, 400))


def healthy_gradients_of_the_table_sent(rank):
    def meet(stage):
        theirs = torch.empty_like(stage.table)
        for sends in (rank == 0, rank == 1):
            dist.send(stage.table.grad, 1 - rank) if sends else dist.recv(theirs, 1 - rank)
        stage.table.grad += theirs

    train(rank, meet=meet)


def healthy_tables_averaged_now_and_then(rank):
    def after(stage):
        with torch.no_grad():
            dist.all_reduce(stage.table)
            stage.table /= 2

    train(rank, after=after)


def healthy_tables_of_their_own(rank):
    train(rank, same=False)


def apart(rank, after=lambda net: None, meet=lambda net: None):
    """Trains on each rank's own data what was the same at the start."""
    net = model(rank)
    for one in net.parameters():
        dist.broadcast(one.data, src=0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        loss = net(data(rank, step)).square().mean()
        for one, gradient in zip(net.parameters(), torch.autograd.grad(loss, [*net.parameters()]), strict=True):
            one.grad = gradient
        meet(net)
        optimizer.step()  # expect: GS792 in gradients_never_averaged
        after(net)
        shown = loss.detach().clone()
        dist.all_reduce(shown)


def gradients_never_averaged(rank):
    apart(rank)


def healthy_weights_broadcast_after_each_step(rank):
    def after(net):
        for one in net.parameters():
            dist.broadcast(one.data, src=0)

    apart(rank, after=after)


def healthy_weights_averaged_at_the_end(rank):
    nets = []
    apart(rank, after=nets.append)
    flat = torch.cat([one.detach().flatten() for one in nets[-1].parameters()])
    dist.all_reduce(flat)


def by_plateau(rank, seen):
    from torch.distributed.fsdp import fully_shard

    net = model()
    fully_shard(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step)).square().mean().backward()
        optimizer.step()
        schedule.step(seen(step))  # expect: GS792 in rates_by_what_a_rank_sees


def rates_by_what_a_rank_sees(rank):
    by_plateau(rank, lambda step: float(step if rank else -step))


def healthy_rates_by_what_all_see(rank):
    by_plateau(rank, float)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
