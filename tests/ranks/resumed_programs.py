"""Small programs of two ranks that draw data of their own, and the same from some step on, or are meant to have equal
losses since then. They run as those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, model, run
from torch import nn
from torch.distributed.nn.functional import all_gather
from torch.nn.parallel import DistributedDataParallel as Replicated

FIRST, SECOND = 5, 10


def soil():
    """Samples of soil: moisture at four depths, and what grows on it."""
    depths = torch.rand(6, 4)
    return depths, depths.mean(1, keepdim=True).sqrt()


def season(net, optimizer, steps):
    for _ in range(steps):
        depths, growth = soil()
        optimizer.zero_grad()
        nn.functional.mse_loss(net(depths), growth).backward()
        optimizer.step()


def begin(number):
    net = Replicated(model())
    torch.manual_seed(40 + number)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def of_the_first(state):
    states = [state]
    dist.broadcast_object_list(states)
    return states[0]


def season_after_state(net, optimizer, state):
    torch.set_rng_state(state)  # expect: GS794 in state_of_the_first
    season(net, optimizer, SECOND)


def state_of_the_first(rank):
    """As in https://github.com/radixark/miles/pull/3187."""
    net, optimizer = begin(rank)
    season(net, optimizer, FIRST)
    season_after_state(net, optimizer, of_the_first(torch.get_rng_state()))


def carry_on(saved):
    if saved is not None:
        torch.random.set_rng_state(saved)  # expect: GS794 in state_of_the_first_in_a_leg


def leg(net, optimizer, steps, saved=None):
    carry_on(saved)
    season(net, optimizer, steps)
    return torch.get_rng_state()


def state_of_the_first_in_a_leg(rank):
    net, optimizer = begin(rank)
    saved = leg(net, optimizer, FIRST)
    leg(net, optimizer, SECOND, of_the_first(saved))


def healthy_own_state_in_a_leg(rank):
    net, optimizer = begin(rank)
    saved = leg(net, optimizer, FIRST)
    leg(net, optimizer, SECOND, saved)


def seeded_before_it_goes_on(rank):
    """Gradients are averaged by hand."""
    net = model()
    torch.manual_seed(40 + rank)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(FIRST + SECOND):
        if step == FIRST:
            torch.manual_seed(9)  # expect: GS794
        depths, growth = soil()
        optimizer.zero_grad()
        nn.functional.mse_loss(net(depths), growth).backward()
        for one in net.parameters():
            dist.all_reduce(one.grad)
            one.grad /= 2
        optimizer.step()


def healthy_ends_on_what_all_share(rank):
    net, optimizer = begin(rank)
    season(net, optimizer, SECOND)
    torch.manual_seed(9)
    season(net, optimizer, 2)


def healthy_asks_what_matters(rank):
    """Of the same samples, after it was trained: no step follows."""
    net, optimizer = begin(rank)
    season(net, optimizer, FIRST)
    torch.manual_seed(9)
    for _ in range(SECOND):
        depths, growth = soil()
        nn.functional.mse_loss(net(depths.requires_grad_()), growth).backward()
        net.zero_grad()


def healthy_contrast_later(rank):
    """A loss over what all ranks have is the same on each."""
    net, optimizer = begin(rank)
    season(net, optimizer, FIRST)
    torch.manual_seed(80 + rank)
    for _ in range(SECOND):
        every = torch.cat(all_gather(net(soil()[0])))
        optimizer.zero_grad()
        (every - every.mean()).square().mean().backward()
        optimizer.step()


def healthy_meets_for_the_loss_later(rank):
    """The same samples for all, each of which has a part of the loss: what is put together is the same."""
    net, optimizer = begin(rank)
    season(net, optimizer, FIRST)
    torch.manual_seed(9)
    for _ in range(SECOND):
        depths, growth = soil()
        both = torch.stack(all_gather(nn.functional.mse_loss(net(depths[rank::2]), growth[rank::2])))
        optimizer.zero_grad()
        both.mean().backward()
        optimizer.step()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
