"""Small programs of two ranks that sum gradients in a loop over parameters, of which each rank goes through others, or
in another order; and their healthy twins. They run as those of `group_programs.py` do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import distributed as dist
from torch import nn


class Experts(nn.Module):
    """Sends a batch to one of several layers that are built alike."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.experts = nn.ModuleList(nn.Linear(4, 6) for _ in range(4))
        self.head = nn.Linear(6, 1)

    def forward(self, x, expert):
        asked = self.experts if expert is None else [self.experts[expert]]
        return self.head(sum(torch.tanh(one(x)) for one in asked))


def routed(rank, average, expert_of=lambda rank, step: (step + 2 * rank) % 4):
    net = Experts()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(data(rank, step), expert_of(rank, step)).square().mean().backward()
        average(net)
        optimizer.step()


def average_what_is_there(net):
    for parameter in net.parameters():
        if parameter.grad is not None:  # expect: GS792 in experts_of_their_own
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()


def experts_of_their_own(rank):
    """As in https://github.com/deepspeedai/DeepSpeed/pull/291."""
    routed(rank, average_what_is_there)


def experts_filtered(rank):
    def average(net):
        trained = [one.grad for one in net.parameters() if one.grad is not None]  # expect: GS792
        for gradient in trained:
            dist.all_reduce(gradient)
            gradient.div_(dist.get_world_size())

    routed(rank, average)


def experts_in_an_order_of_their_own(rank):
    def average(net):
        experts = list(net.experts) if rank == 0 else list(net.experts)[::-1]
        for parameter in [one for part in (*experts, net.head) for one in part.parameters()]:
            if not parameter.requires_grad:
                continue
            dist.all_reduce(parameter.grad)  # expect: GS792
            parameter.grad /= dist.get_world_size()

    routed(rank, average, lambda rank, step: None)


def healthy_the_same_expert(rank):
    """Leaves out what has no gradient, which is the same on all ranks."""
    routed(rank, average_what_is_there, lambda rank, step: step % 4)


def healthy_zeros_take_part(rank):
    def average(net):
        for parameter in net.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()

    routed(rank, average)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
