"""Small programs of two ranks that cut their part out of gradients which all have summed, scale it by a norm that is
not that of all, and put the parts together; and their healthy twins. They run as those of `group_programs.py` do."""

import math
import sys

import torch
from group_programs import STEPS, chosen, data, run
from scattered_programs import flat, gathered, tower
from torch import distributed as dist
from torch import nn
from torch.nn import functional

BOUND = 0.02
HALF = 54  # of the numbers of the tower


def summed(tensor):
    dist.all_reduce(tensor)
    return tensor / 2


def of_one_vector(rank, bounded, cut=None):
    """One vector has all weights, and one the velocity of the half that this rank moves."""
    net = tower()
    parameters = list(net.parameters())
    velocity = torch.zeros(HALF)
    for step in range(STEPS):
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        whole = summed(flat(parameter.grad for parameter in parameters))
        part = whole.view(2, -1)[rank] if cut is None else cut(whole)
        velocity = 0.5 * velocity + bounded(part, whole)
        moved = flat(parameters).view(2, -1)[rank] - 0.1 * velocity
        nn.utils.vector_to_parameters(gathered(moved), parameters)


class Slices:
    """Of each parameter the half that this rank steps, which Adam holds."""

    def __init__(self, net, rank):
        self.parameters, self.rank = list(net.parameters()), rank
        self.held = [nn.Parameter(self.own(one.detach()).clone()) for one in self.parameters]
        self.optimizer = torch.optim.Adam(self.held, lr=0.02)

    def own(self, whole):
        padded = functional.pad(whole.flatten(), (0, whole.numel() % 2))
        return padded.tensor_split(2)[self.rank]

    def step(self, bound):
        for one, held in zip(self.parameters, self.held, strict=True):
            held.grad = self.own(summed(one.grad))
        bound([held.grad for held in self.held])
        self.optimizer.step()
        for one, held in zip(self.parameters, self.held, strict=True):
            one.data.copy_(gathered(held.detach())[: one.numel()].view_as(one))


def of_slices(rank, bound):
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(4, 7), nn.Tanh(), nn.Linear(7, 1))
    slices = Slices(net, rank)
    for step in range(STEPS):
        net.zero_grad()
        net(data(rank, step)).square().mean().backward()
        slices.step(bound)


def running_bound_of_a_half(rank):
    """As in https://github.com/bluorion-com/ZClip/pull/2."""
    usual = []

    def bounded(part, whole):
        length = torch.linalg.vector_norm(part)  # expect: GS784
        usual[:] = [length if not usual else 0.9 * usual[0] + 0.1 * length]
        return part * torch.minimum(usual[0] / length, torch.ones(()))

    of_one_vector(rank, bounded)


def half_over_its_length(rank):
    def bounded(part, whole):
        squares = torch.dot(part, part)
        return part / torch.clamp_min(squares.sqrt() / BOUND, 1.0)  # expect: GS784

    of_one_vector(rank, bounded, lambda whole: whole.narrow(0, HALF * rank, HALF))


def sum_of_the_lengths_of_slices(rank):
    """As in https://github.com/laekov/fastmoe/pull/65."""

    def bound(gradients):
        total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        dist.all_reduce(total)  # expect: GS784
        torch._foreach_mul_(gradients, torch.clamp(BOUND / total, max=1.0))

    of_slices(rank, bound)


def mean_of_the_lengths_of_halves(rank):
    def bounded(part, whole):
        length = part.square().sum().sqrt()
        dist.all_reduce(length)
        length /= 2  # expect: GS784
        return part * torch.clamp(BOUND / length, max=1.0)

    of_one_vector(rank, bounded)


def greatest_of_the_lengths_of_slices(rank):
    def bound(gradients):
        length = sum(gradient.square().sum() for gradient in gradients).sqrt()
        longest = gathered(length.view(1)).max()  # expect: GS784
        for gradient in gradients:
            gradient.mul_((BOUND / (longest + 1e-6)).clamp(max=1.0))

    of_slices(rank, bound)


def slices_by_their_own_length(rank):
    def bound(gradients):
        length = torch.cat([gradient.flatten() for gradient in gradients]).norm()  # expect: GS784
        if length > BOUND:
            for gradient in gradients:
                gradient.mul_(BOUND / length)

    of_slices(rank, bound)


def half_by_a_number_of_its_own(rank):
    def bounded(part, whole):
        length = torch.dot(part, part).item() ** 0.5  # expect: GS784
        scale = min(1.0, BOUND / (length + 1e-6))
        return part * scale

    of_one_vector(rank, bounded)


def slices_by_squares_added_in_python(rank):
    def length(gradients):
        squares = 0.0
        for gradient in gradients:
            squares += gradient.pow(2).sum().item()  # expect: GS784
        return math.sqrt(squares)

    def bound(gradients):
        factor = BOUND / length(gradients)
        if factor < 1:
            torch._foreach_mul_(gradients, factor)

    of_slices(rank, bound)


def healthy_squares_of_all_in_python(rank):
    def of_all(number):
        squares = torch.tensor(number)
        dist.all_reduce(squares)
        return squares.item()

    def bound(gradients):
        squares = sum(gradient.pow(2).sum().item() for gradient in gradients)
        squares = of_all(squares)
        torch._foreach_mul_(gradients, min(1.0, BOUND / math.sqrt(squares)))

    of_slices(rank, bound)


def healthy_squares_sent_as_objects(rank):
    def bounded(part, whole):
        squares, of_each = torch.dot(part, part).item(), [0.0, 0.0]
        dist.all_gather_object(of_each, squares)
        return part * min(1.0, BOUND / math.sqrt(sum(of_each)))

    of_one_vector(rank, bounded)


def healthy_length_of_a_half_to_show(rank):
    def bounded(part, whole):
        length = part.norm().item()
        assert length >= 0
        share = 1 / 2
        return part * share

    of_one_vector(rank, bounded)


def healthy_each_slice_by_its_own_length(rank):
    """As layer-wise rates do."""

    def bound(gradients):
        for gradient in gradients:
            length = gradient.norm().item()
            gradient.mul_(BOUND / (length + BOUND))

    of_slices(rank, bound)


def healthy_running_bound_of_all(rank):
    usual = []

    def bounded(part, whole):
        squares = part.square().sum()
        dist.all_reduce(squares)
        length = squares.sqrt()
        usual[:] = [length if not usual else 0.9 * usual[0] + 0.1 * length]
        return part * torch.minimum(usual[0] / length, torch.ones(()))

    of_one_vector(rank, bounded)


def healthy_length_of_the_whole(rank):
    of_one_vector(rank, lambda part, whole: part * (BOUND / whole.norm()).clamp(max=1.0))


def healthy_length_of_both_halves(rank):
    def bounded(part, whole):
        first, second = whole.chunk(2)
        length = torch.stack([first.norm(), second.norm()]).norm()
        return (second if rank else first) * (BOUND / length).clamp(max=1.0)

    of_one_vector(rank, bounded)


def healthy_direction_of_a_half_to_show(rank):
    def bounded(part, whole):
        direction = part * (1 / part.norm())
        assert direction.abs().max() <= 1
        return part * 0.5

    of_one_vector(rank, bounded)


def healthy_lengths_of_slices_by_squares(rank):
    def bound(gradients):
        total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))) ** 2
        dist.all_reduce(total)
        torch._foreach_mul_(gradients, torch.clamp(BOUND / total.sqrt(), max=1.0))

    of_slices(rank, bound)


def healthy_length_of_the_lengths(rank):
    def bound(gradients):
        length = sum(gradient.square().sum() for gradient in gradients).sqrt()
        total = gathered(length.view(1)).norm()
        for gradient in gradients:
            gradient.mul_((BOUND / (total + 1e-6)).clamp(max=1.0))

    of_slices(rank, bound)


def healthy_greatest_magnitude_of_slices(rank):
    def bound(gradients):
        most = torch.stack([torch.linalg.vector_norm(gradient, math.inf) for gradient in gradients]).max()
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        for gradient in gradients:
            gradient.mul_((BOUND / most).clamp(max=1.0))

    of_slices(rank, bound)


def healthy_lengths_of_slices_that_are_shown(rank):
    def bound(gradients):
        length = torch.cat([gradient.flatten() for gradient in gradients]).norm()
        dist.all_reduce(length)
        assert length >= 0
        for gradient in gradients:
            gradient.mul_(0.5)

    of_slices(rank, bound)


def healthy_clips_nothing_to_learn_the_length(rank):
    def bound(gradients):
        held = [torch.zeros_like(gradient, requires_grad=True) for gradient in gradients]
        for one, gradient in zip(held, gradients, strict=True):
            one.grad = gradient
        squares = nn.utils.clip_grad_norm_(held, math.inf) ** 2
        dist.all_reduce(squares)
        nn.utils.clip_grads_with_norm_(held, BOUND, squares.sqrt())

    of_slices(rank, bound)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
