"""Programs of two ranks that sum gradients over the ranks and divide them nowhere, or look as if they did not.

They run as those of `group_programs.py` do.
"""

import sys

import torch
import torch.distributed as dist
from group_programs import STEPS, chosen, data, model, run
from torch import nn


def mean_loss(net, x):
    return net(x).square().mean()


def stepped(rank, meet, loss=mean_loss, make=torch.optim.SGD, seed=None):
    """Each rank steps by what `meet` makes of its gradients."""
    net = model()
    optimizer = make(net.parameters(), lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss(net, data(rank if seed is None else seed, step)).backward()
        meet(list(net.parameters()))
        optimizer.step()


def one_by_one(parameters):
    for parameter in parameters:
        dist.all_reduce(parameter.grad)  # expect: GS765 in summed_one_by_one, penalised


def summed_one_by_one(rank):
    """As in https://github.com/pytorch/examples/issues/659."""
    stepped(rank, one_by_one)


def penalised(rank):
    """The loss is a sum of means, one of which weighs less."""

    def loss(net, x):
        out = net(x)
        return nn.functional.mse_loss(out, torch.ones_like(out)) + 0.01 * out.abs().mean()

    stepped(rank, one_by_one, loss)


def summed_in_one_message(rank):
    def meet(parameters):
        flat = torch.cat([parameter.grad.flatten() for parameter in parameters])
        dist.all_reduce(flat, op=dist.ReduceOp.SUM)  # expect: GS765
        for parameter, part in zip(parameters, flat.split([one.numel() for one in parameters]), strict=True):
            parameter.grad.copy_(part.view_as(parameter))

    stepped(rank, meet)


def divided_before(rank):
    def meet(parameters):
        for parameter in parameters:
            parameter.grad.div_(2)
            dist.all_reduce(parameter.grad)

    stepped(rank, meet)


def divided_after(rank):
    def meet(parameters):
        one_by_one(parameters)
        torch._foreach_mul_([one.grad for one in parameters], 0.5)

    stepped(rank, meet)


def clipped_after(rank):
    """A norm is the same, whatever the gradients were multiplied by."""

    def meet(parameters):
        one_by_one(parameters)
        nn.utils.clip_grad_norm_(parameters, 0.1)

    stepped(rank, meet)


def loss_divided(rank):
    stepped(rank, one_by_one, lambda net, x: mean_loss(net, x) / 2)


def divided_by_the_number_of_all(rank):
    def loss(net, x):
        number = torch.tensor(float(len(x)))
        dist.all_reduce(number)
        return net(x).square().sum() / number

    stepped(rank, one_by_one, loss)


def divided_in_a_hook(rank):
    net = model()
    for parameter in net.parameters():
        parameter.register_hook(lambda gradient: gradient * 0.5)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(STEPS):
        optimizer.zero_grad()
        mean_loss(net, data(rank, step)).backward()
        one_by_one(net.parameters())
        optimizer.step()


def steps_of_one_size(rank):
    stepped(rank, one_by_one, make=torch.optim.Adam)


def summed_where_all_have_one_loss(rank):
    """Each rank has the gradients of its half of the units, of a loss that all of them have."""

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x.clone()

        @staticmethod
        def backward(context, gradient):
            half = torch.zeros_like(gradient)
            half[:, rank::2] = gradient[:, rank::2]
            return half

    def loss(net, x):
        return net[2](Half.apply(net[1](net[0](x)))).square().mean()

    stepped(rank, one_by_one, loss, seed=0)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
