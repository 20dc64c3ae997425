"""Small programs of two ranks that scatter gradients themselves after the backward, step their own part and put the
parts together: scaled by a norm of this part alone; and their healthy twins. They run as those of `group_programs.py`
do."""

import sys

import torch
from group_programs import STEPS, chosen, data, run
from torch import distributed as dist
from torch import nn

BOUND = 0.02
HALF = 54  # of the numbers of the tower


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


def with_velocity(rank, bounded):
    """The part that a rank moves is made anew of what was scattered, and goes into a mean of the last steps."""
    net = tower()
    parameters = list(net.parameters())
    own, velocity = flat(parameters).chunk(2)[rank].clone(), torch.zeros(HALF)
    for step in range(STEPS):
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        part = scattered(flat(parameter.grad for parameter in parameters))
        velocity.lerp_(bounded(part), 0.3)
        own = own - 0.1 * velocity
        nn.utils.vector_to_parameters(gathered(own), parameters)


def velocity_of_a_part_over_its_length(rank):
    def bounded(part):
        length = torch.linalg.vector_norm(part)  # expect: GS784
        return torch.where(length > BOUND, part * (BOUND / length), part)

    with_velocity(rank, bounded)


def moments_of_parts_over_their_length(rank):
    """Adam by hand, of the rank's part of each parameter's gradient."""
    net = tower()
    parameters = list(net.parameters())
    own = [parameter.detach().flatten().chunk(2)[rank].clone() for parameter in parameters]
    squares = [torch.zeros_like(mine) for mine in own]
    for step in range(STEPS):
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        parts = [scattered(parameter.grad.flatten()) for parameter in parameters]
        length = torch.cat(parts).square().sum().sqrt()  # expect: GS784
        factor = torch.clamp_max(BOUND / length, 1.0)
        parts = [factor * part for part in parts]
        for parameter, mine, part, square in zip(parameters, own, parts, squares, strict=True):
            square.mul_(0.9).addcmul_(part, part, value=0.1)
            mine.addcdiv_(part, square.sqrt() + 1e-4, value=-0.01)
            parameter.data.copy_(gathered(mine).view_as(parameter))


def healthy_velocity_over_the_length_of_all(rank):
    def bounded(part):
        length = torch.linalg.vector_norm(gathered(torch.linalg.vector_norm(part).view(1)))
        return torch.where(length > BOUND, part * (BOUND / length), part)

    with_velocity(rank, bounded)


def healthy_velocity_and_a_length_to_show(rank):
    def bounded(part):
        share = part * (1 / torch.linalg.vector_norm(part))
        assert share.abs().max() <= 1
        return part.clamp(-BOUND, BOUND)

    with_velocity(rank, bounded)


def healthy_rows_are_scattered_and_scaled(rank):
    """Samples that both ranks compute half of the features of: each goes on with a few, at a length of their own, and
    all are gathered to be shown."""
    torch.manual_seed(3)
    halves, head = nn.Linear(4, 4, bias=False), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*halves.parameters(), *head.parameters()], lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        rows = Scattered.apply(halves(torch.cat([data(7, step)] * 2)))
        rows = rows / rows.norm()
        gathered(rows.detach())
        head(rows).square().mean().backward()
        for parameter in (*halves.parameters(), *head.parameters()):
            dist.all_reduce(parameter.grad)
        optimizer.step()


class Scattered(torch.autograd.Function):
    """Each rank's rows of a sum over ranks."""

    @staticmethod
    def forward(context, rows):
        part = torch.empty(len(rows) // 2, *rows.shape[1:])
        dist.reduce_scatter(part, list(rows.contiguous().chunk(2)))
        return part

    @staticmethod
    def backward(context, gradient):
        return gathered(gradient.contiguous())


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
