"""Programs of two ranks whose DistributedDataParallel is given a communication hook that sums gradients, and divides
them or not. They run as those of `group_programs.py` do.

No line scales by a name that is that of the number of ranks: such a line is known, wherever it stands in a file."""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run, train
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel as Replicated


def mean_loss(net, x):
    return net(x).square().mean()


def stepped(rank, hook, loss=mean_loss, make=torch.optim.SGD, after=lambda net: None):
    net = Replicated(model())
    net.register_comm_hook(None, hook)
    optimizer = make(net.parameters(), lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss(net, data(rank, step)).backward()
        after(net)
        optimizer.step()


def first(done):
    return done.value()[0]


def adding(state, bucket):
    work = dist.all_reduce(bucket.buffer(), async_op=True)  # expect: GS765 in summed_by_a_hook, of_two_means
    return work.get_future().then(first)


def summed_by_a_hook(rank):
    """As in https://github.com/pytorch/pytorch/pull/42399."""
    net = Replicated(model())
    net.register_comm_hook(state=None, hook=adding)
    train(net, rank, lr=0.01)


def of_two_means(rank):
    def loss(net, x):
        out = net(x)
        return nn.functional.mse_loss(out, torch.ones_like(out)) + 0.1 * out.abs().mean()

    stepped(rank, adding, loss)


class Wire:
    """Sends gradients in half of their bytes, and counts these."""

    def __init__(self):
        self.sent = 0

    def send(self, payload):
        self.sent += 2 * payload.numel()
        return dist.all_reduce(payload, op=dist.ReduceOp.SUM, async_op=True)  # expect: GS765 in sent_by_a_method

    def carry(self, state, bucket):
        whole = bucket.buffer()
        future = self.send(whole.bfloat16()).get_future()
        return future.then(lambda done: whole.copy_(done.value()[0]))


def sent_by_a_method(rank):
    stepped(rank, Wire().carry)


EARLY = 3  # backward calls


class Packed:
    """Sends whole gradients at first, half of their bytes later."""

    def __init__(self, pack):
        self.calls, self.pack = 0, pack

    def __call__(self, state, bucket):
        self.calls += bucket.is_last()
        if self.calls <= EARLY:
            return self.at_first(bucket.buffer())
        return self.later(bucket.buffer())

    def at_first(self, flat):
        flat *= 0.5
        return dist.all_reduce(flat, async_op=True).get_future().then(first)

    def later(self, flat):
        work = dist.all_reduce(self.pack(flat), async_op=True)  # expect: GS765 in summed_in_its_second_way
        return work.get_future().then(lambda done: flat.copy_(first(done)))


def as_half(flat):
    return flat.to(torch.float16)


def as_half_of_half(flat):
    return flat.to(torch.float16) / 2.0


def summed_in_its_second_way(rank):
    """As in https://github.com/pytorch/pytorch/pull/42400."""

    packed = Packed(as_half)

    def packs(state, bucket):
        return packed(state, bucket)

    in_two_ways(rank, packs)


def divided_in_both_ways(rank):
    packed = Packed(as_half_of_half)

    def packs_shares(state, bucket):
        return packed(state, bucket)

    in_two_ways(rank, packs_shares)


def in_two_ways(rank, hook):
    net = Replicated(model())
    net.register_comm_hook(None, hook)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(2 * EARLY + 1):
        optimizer.zero_grad()
        mean_loss(net, data(rank, step)).backward()
        optimizer.step()


def warming_up(rank):
    """One line sums, and a condition says whether it is of halves."""
    calls = []

    def warms(state, bucket):
        flat = bucket.buffer()
        calls.append(len(flat))
        if len(calls) <= EARLY:
            flat.div_(2)
        return dist.all_reduce(flat, async_op=True).get_future().then(first)  # expect: GS765

    in_two_ways(rank, warms)


def divided_by_turns(rank):
    """Once before it is summed, then when it is done, in another thread."""
    calls = []

    def turns(state, bucket):
        flat = bucket.buffer()
        calls.append(len(flat))
        if len(calls) <= EARLY:
            return dist.all_reduce(flat.div_(2), async_op=True).get_future().then(first)
        return dist.all_reduce(flat, async_op=True).get_future().then(half_of)

    in_two_ways(rank, turns)


def halved(tensor):
    return tensor.div_(2)


def divided_by_one_function_by_turns(rank):
    calls = []

    def turns_by_one(state, bucket):
        flat = bucket.buffer()
        calls.append(len(flat))
        if len(calls) <= EARLY:
            return dist.all_reduce(halved(flat), async_op=True).get_future().then(first)
        return dist.all_reduce(flat, async_op=True).get_future().then(lambda done: halved(first(done)))

    in_two_ways(rank, turns_by_one)


def divided_before(rank):
    def halving(state, bucket):
        return dist.all_reduce(bucket.buffer().div_(2), async_op=True).get_future().then(first)

    stepped(rank, halving)


def half_of(done):
    return first(done) * 0.5


def meeting(state, bucket):
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(half_of)


def divided_when_it_is_done(rank):
    """No operator of another thread is known: the source tells."""
    stepped(rank, meeting)


def of_torch(state, bucket):
    return default_hooks.allreduce_hook(None, bucket)


def divided_by_a_hook_of_torch(rank):
    stepped(rank, of_torch)


def loss_divided(rank):
    stepped(rank, adding, lambda net, x: mean_loss(net, x) / 2)


def clipped(rank):
    stepped(rank, adding, after=lambda net: nn.utils.clip_grad_norm_(net.parameters(), 0.1))


def steps_of_one_size(rank):
    stepped(rank, adding, make=torch.optim.Adam)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
