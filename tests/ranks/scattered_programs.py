"""Small programs of two ranks that scatter gradients themselves after the backward, step their own part and put the
parts together: scaled by a norm of this part alone; and their healthy twins. They run as those of `group_programs.py`
do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import distributed as dist
from torch import nn

BOUND = 0.02


def tower():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 2))


def flat(tensors):
    return torch.cat([one.detach().flatten() for one in tensors])


def gathered(part):
    parts = [torch.empty_like(part) for _ in range(2)]
    dist.all_gather(parts, part)
    return torch.cat(parts)


def scattered(whole):
    part = torch.empty(whole.numel() // 2)
    dist.reduce_scatter(part, list(whole.chunk(2)))
    return part / 2


def of_one_message(rank, scale):
    """A part of all gradients as one: the model has 116 numbers."""
    net = tower()
    parameters = list(net.parameters())
    own = flat(parameters).chunk(2)[rank].clone()
    for step in range(STEPS):
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        part = scattered(flat(parameter.grad for parameter in parameters))
        scale(part)
        own.sub_(part, alpha=0.1)
        nn.utils.vector_to_parameters(gathered(own), parameters)


def of_each_parameter(rank, scale):
    """A part of the gradient of each parameter: all have an even number of numbers."""
    net = tower()
    parameters = list(net.parameters())
    own = [parameter.detach().flatten().chunk(2)[rank].clone() for parameter in parameters]
    for step in range(STEPS):
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        parts = [scattered(parameter.grad.flatten()) for parameter in parameters]
        scale(parts)
        torch._foreach_sub_(own, parts, alpha=0.1)
        for parameter, mine in zip(parameters, own, strict=True):
            parameter.data.copy_(gathered(mine).view_as(parameter))


def part_is_scaled_by_its_norm(rank):
    """As in https://github.com/sgl-project/SpecForge/pull/663."""

    def scale(part):
        norm = part.norm()  # expect: GS784
        part.mul_((BOUND / (norm + 1e-6)).clamp(max=1.0))

    of_one_message(rank, scale)


def parts_of_parameters_are_scaled_by_their_norm(rank):
    def scale(parts):
        total = torch.stack([part.square().sum() for part in parts]).sum().sqrt()  # expect: GS784
        if total > BOUND:
            for part in parts:
                part.div_(total / BOUND)

    of_each_parameter(rank, scale)


def healthy_squares_of_all_parts(rank):
    def scale(part):
        squares = part.square().sum()
        dist.all_reduce(squares)
        part.mul_((BOUND / squares.sqrt()).clamp(max=1.0))

    of_one_message(rank, scale)


def healthy_squares_of_all_parts_of_parameters(rank):
    def scale(parts):
        squares = gathered(torch.stack([part.square().sum() for part in parts]).sum().view(1))
        for part in parts:
            part.mul_((BOUND / squares.sum().sqrt()).clamp(max=1.0))

    of_each_parameter(rank, scale)


def healthy_norm_of_a_part_to_show(rank):
    """Scales by a schedule of its own, and shows how long its part is, and where it points."""

    def scale(part):
        norm = part.norm()
        direction = part / norm
        assert direction.abs().max() <= 1
        assert norm >= 0
        part.mul_(torch.tensor(0.5))

    of_one_message(rank, scale)


def healthy_each_part_by_itself(rank):
    """A step of the same length for each parameter's part."""

    def scale(parts):
        for part in parts:
            part.div_(part.norm() + 1.0)

    of_each_parameter(rank, scale)


def healthy_values_are_cut(rank):
    of_one_message(rank, lambda part: part.clamp_(-BOUND, BOUND))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
