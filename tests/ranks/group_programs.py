"""Small programs of two ranks with a fault each, and what runs them; `healthy_programs.py` has those without.

`group_programs.py FOLDER RANK` runs all of them in one process of each rank and records each into a file of its own.
A comment marks the line that must be named; "# expect: GS792" at a function's first line: no line is named.
"""

import contextlib
import os
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from marks import waiting
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Replicated

STEPS = 6
PATIENCE = 6  # seconds until gloo gives a peer up in a program in which one waits in vain
LONG_PATIENCE = 60  # and in all others: a machine may have much else to do
SHARES = 4  # processes of a rank, for many programs wait most of the time


def model(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def data(rank, step):
    torch.manual_seed(100 * rank + step)
    return torch.randn(5, 4)


def train(net, rank, loss=lambda net, x: net(x).square().mean(), before=lambda net, step: None, lr=0.1):
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for step in range(STEPS):
        before(net, step)
        optimizer.zero_grad()
        loss(net, data(rank, step)).backward()
        optimizer.step()


def pipeline(rank, world):
    """A stage for each rank, through which three batches go. Returns this rank's."""
    torch.manual_seed(rank)
    stage = nn.Linear(4, 4)
    for step in range(3):
        x = data(0, step).requires_grad_()
        if rank > 0:
            dist.recv(x.data, rank - 1)
        out = stage(x)
        if rank < world - 1:
            dist.send(out.detach(), rank + 1)
            gradient = torch.empty(5, 4)
            dist.recv(gradient, rank + 1)
            out.backward(gradient)
        else:
            out.square().mean().backward()
        if rank > 0:
            dist.send(x.grad, rank - 1)
    return stage


def one_more_reduce(rank):
    def extra(net, step):
        if rank == 1 and step == 3:
            dist.all_reduce(torch.ones(3))  # expect: GS790
        dist.all_reduce(torch.ones(1))

    train(model(), rank, before=extra)


def another_operator(rank):
    def meet(net, step):
        if rank == 1 and step == 2:
            dist.broadcast(torch.ones(1), src=0)  # expect: GS790
        else:
            dist.all_reduce(torch.ones(1))

    train(model(), rank, before=meet)


def branch_on_one_rank(rank):
    net = Replicated(model())

    def log(net, step):
        if step == 4 and rank == 0:
            gathered = [torch.zeros(1) for _ in range(2)]
            dist.all_gather(gathered, torch.ones(1))  # expect: GS790

    train(net, rank, before=log)


def another_dtype(rank):
    total = torch.ones(4, dtype=torch.float32 if rank == 0 else torch.int32)  # expect: GS790
    dist.all_reduce(total)


def dtype_by_the_values(rank):
    def total_of(values):
        told = torch.as_tensor(sum(values) if values else 0.0)  # expect: GS790
        told = told.clone()
        dist.all_reduce(told)

    one = torch.ones((), dtype=torch.int32)
    train(Replicated(model()), rank, before=lambda net, step: total_of([one] * (rank == 0 or step != 3)))


def another_root(rank):
    dist.all_reduce(torch.ones(1))
    dist.broadcast(torch.ones(1), src=rank)  # expect: GS790


def groups_in_another_order(rank):
    first, second = (dist.new_group([0, 1], timeout=timedelta(seconds=PATIENCE)) for _ in range(2))
    for group in (first, second) if rank == 0 else (second, first):
        dist.all_reduce(torch.ones(1), group=group)  # expect: GS790


def both_receive_first(rank):
    got = torch.empty(2)
    dist.all_reduce(torch.ones(1))
    dist.recv(got, 1 - rank)  # expect: GS790
    dist.send(got, 1 - rank)


def nobody_sends(rank):
    dist.all_reduce(torch.ones(1))
    if rank == 0:
        dist.recv(torch.empty(2), 1)
    else:
        raise ValueError("nothing to send")  # expect: GS791


def raises_on_one_rank(rank):
    def check(net, step):
        if rank == 1 and step == 3:
            raise ValueError("bad sample")  # expect: GS791
        dist.all_reduce(torch.ones(1))

    train(model(), rank, before=check)


def raises_in_the_loss(rank):
    def loss(net, x):
        if rank == 0 and x.sum() != 0:
            x = x[:, :2]
        return net(x).square().mean()  # expect: GS791

    net = model()
    dist.all_reduce(torch.ones(1))
    train(net, rank, loss=loss)
    dist.all_reduce(torch.ones(1))


def raises_after_other_lines(rank):
    for _ in range(3):
        if rank == 0:
            dist.broadcast(torch.ones(2), src=0)
        else:
            dist.broadcast(torch.zeros(2), src=0)
    if rank == 1:
        raise ValueError("not their fault")  # expect: GS791


def leaves_a_step_out(rank):
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        out = net(data(rank, step))
        if rank == 1 and step == 3:  # expect: GS791
            continue
        out.square().mean().backward()
        optimizer.step()
        dist.all_reduce(torch.ones(1))


def batches(of):
    """Some are empty, of each rank at another step; there are equally many."""
    empty = (2, 4) if of == 0 else (3,)
    samples = [data(of, step)[: 0 if step in empty else 5] for step in range(STEPS)]
    return torch.utils.data.DataLoader(samples, batch_size=1, collate_fn=torch.cat)


def leaves_steps_out_and_meets(rank):
    def epoch(loader):
        for x in loader:
            if len(x) == 0:  # expect: GS790
                continue
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()

    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    epoch(batches(rank))
    dist.barrier()


def put_together(net):
    return [parameter.full_tensor() for parameter in net.parameters()]


def puts_together_on_rank_0(rank):
    from torch.distributed.fsdp import fully_shard

    def save():
        if rank == 0:
            state = {"model": put_together(net)}  # expect: GS790
            assert state
        dist.barrier()

    net = model()
    fully_shard(net)
    train(net, rank)
    save()


def leaves_a_branch_out(rank):
    net = Replicated(model())
    for step in range(STEPS):
        out = net(data(rank, step))
        if rank == 0 or step != 3:  # expect: GS791
            loss = out.square().mean()
            loss.backward()


def ends_early(rank):
    for _ in range(3 - rank):  # expect: GS791
        train(model(), 0)
        dist.all_reduce(torch.ones(1))


def logarithm_of_nothing(rank):
    def loss(net, x):
        x = x.abs() * (1 - rank)
        return (net(x) + x.sum(1, keepdim=True).log()).mean()  # expect: GS793

    train(Replicated(model()), rank, loss=loss)


def root_of_a_negative(rank):
    def loss(net, x):
        return net((x + 10 * (1 - rank)).sqrt()).square().mean()  # expect: GS793

    train(Replicated(model()), rank, loss=loss)


def zero_by_zero(rank):
    def loss(net, x):
        count = torch.tensor(float(1 - rank))
        return net(x).square().sum() * (count / count)  # expect: GS793

    train(Replicated(model()), rank, loss=loss)


def one_seed_for_all(rank):
    net = Replicated(model())
    torch.manual_seed(7)  # expect: GS794
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        net(torch.randn(5, 4)).square().mean().backward()
        optimizer.step()


def no_sampler(rank):
    loader = torch.utils.data.DataLoader(torch.arange(48.0).reshape(12, 4) / 48, batch_size=2)  # expect: GS794
    net = Replicated(model())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in loader:
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()


def same_shuffle(rank):
    net = Replicated(model())
    order = torch.randperm(12, generator=torch.Generator().manual_seed(3))  # expect: GS794
    samples = torch.arange(48.0).reshape(12, 4) / 48
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for at in range(0, 12, 2):
        optimizer.zero_grad()
        net(samples[order[at : at + 2]]).square().mean().backward()
        optimizer.step()


def chosen(names):
    """The functions of a script that are programs: those that are given a rank alone."""
    functions = [found for found in names.values() if getattr(found, "__code__", None)]
    return [one for one in functions if one.__code__.co_varnames[: one.__code__.co_argcount] == ("rank",)]


def run(folder, rank, programs, world):
    """Run programs, each recorded into a folder of its own, in a few processes that share them."""
    import gradscope  # noqa: F401 (once, before there are several processes)

    shares = [
        _forked(lambda share=share: _each(folder, rank, programs[share::SHARES], world)) for share in range(SHARES)
    ]
    sys.exit(any(os.waitpid(child, 0)[1] for child in shares))


def _each(folder, rank, programs, world):
    """One after the other, each in a process of its own: one whose group was never made leaves torch in disorder."""
    in_vain = waiting(Path(sys.argv[0]))
    for found in programs:
        patience = timedelta(seconds=PATIENCE if found.__name__ in in_vain else LONG_PATIENCE)
        child = _forked(lambda found=found, patience=patience: _recorded(folder, rank, found, world, patience))
        assert os.waitpid(child, 0)[1] == 0


def _recorded(folder, rank, program, world, patience):
    import gradscope

    place = Path(folder) / program.__name__
    place.mkdir(exist_ok=True)
    _meet(place, rank, world)
    store = dist.FileStore(str(Path(folder) / f"{program.__name__}.store"), world)
    file = place / f"run.r{rank:05d}-of-{world:05d}.1.gscope"
    with contextlib.suppress(Exception), gradscope.record(file):
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=patience)
        program(rank)
        dist.destroy_process_group()
    if dist.is_initialized():
        dist.destroy_process_group()


def _forked(act):
    """Do something in a process of its own. Returns its number."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    return child


def _meet(place, rank, world):
    """Wait for the other ranks without losing patience: one that gave up in the last program would be alone in all."""
    store = dist.FileStore(f"{place}.meeting", world)
    store.set(str(rank), "here")
    store.wait([str(each) for each in range(world)], timedelta(minutes=5))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
