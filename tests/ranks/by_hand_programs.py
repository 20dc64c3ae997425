"""Programs of two ranks that step by hand, by what torch.autograd.grad() gives, with a fault each or none. They run as
those of `group_programs.py` do."""

import sys

import torch
import torch.distributed as dist
from group_programs import chosen, model, run
from torch.func import functional_call

STEPS = 10


def batches(of):
    """One rank has more cells of a battery in a batch than the other."""
    draws = torch.Generator().manual_seed(20 + of)
    for _ in range(STEPS):
        yield torch.randn(5 + 4 * of, 4, generator=draws)


def of_all(gradients):
    found = []
    for one in gradients:
        total = one.clone()
        dist.all_reduce(total)
        found.append(total / dist.get_world_size())
    return found


def rate_after(seen):
    return 0.1 / (1 + seen / 20)


def cells(rank, counted):
    net, seen = model(), 0
    for x in batches(rank):
        gradients = of_all(torch.autograd.grad(net(x).square().mean(), list(net.parameters())))
        seen += counted(len(x))
        rate = rate_after(seen)  # expect: GS792 in rate_by_own_cells
        with torch.no_grad():
            for one, gradient in zip(net.parameters(), gradients, strict=True):
                one.sub_(rate * gradient)


def rate_by_own_cells(rank):
    """As in https://github.com/karpathy/nanochat/pull/857."""
    cells(rank, lambda many: many)


def healthy_rate_by_all_cells(rank):
    def counted(many):
        total = torch.tensor([many])
        dist.all_reduce(total)
        return int(total)

    cells(rank, counted)


def layers():
    draws = torch.Generator().manual_seed(1)
    return [(0.5 * torch.randn(size, generator=draws)).requires_grad_() for size in ((4, 6), (6, 1))]


def pipes(rank, length_of):
    """New tensors in each step, of the flow in pipes: their gradient is cut to a length that goes by the loss."""
    weights = layers()
    for x in batches(rank):
        loss = (torch.tanh(x @ weights[0]) @ weights[1] - 1).square().mean()
        flat = torch.cat([one.reshape(-1) for one in torch.autograd.grad(loss, weights)])
        dist.all_reduce(flat)
        longest = length_of(loss)  # expect: GS792 in cut_by_own_loss
        parts = (flat * longest).split([one.numel() for one in weights])
        weights = [
            (one - 0.05 * part.view_as(one)).detach().requires_grad_() for one, part in zip(weights, parts, strict=True)
        ]


def cut_by_own_loss(rank):
    """As in https://github.com/Lightning-AI/pytorch-lightning/issues/5243."""
    pipes(rank, lambda loss: min(1.0, loss.item()))


def healthy_cut_by_the_loss_of_all(rank):
    pipes(rank, lambda loss: min(1.0, float(of_all([loss.detach()])[0])))


class Descent:
    """Steps the parameters of a model of snow, each by its own share."""

    def __init__(self, net, warmth):
        self.net, self.warmth = net, warmth

    def step(self, x):
        parameters = dict(self.net.named_parameters())
        loss = functional_call(self.net, parameters, (x,)).square().mean()
        derived = torch.autograd.grad(loss, tuple(parameters.values()))
        for one in derived:
            dist.all_reduce(one, op=dist.ReduceOp.SUM)
        share = self.warmth(x)  # expect: GS792 in share_by_own_warmth
        torch._foreach_add_([one.data for one in parameters.values()], derived, alpha=-share)


def share_by_own_warmth(rank):
    """As in https://github.com/huggingface/transformers/issues/34242."""
    descent = Descent(model(), lambda x: 0.01 * float(x.abs().mean()))
    for x in batches(rank):
        descent.step(x)


def healthy_one_share(rank):
    descent = Descent(model(), lambda x: 0.01 * float(torch.ones(2).mean()))
    for x in batches(rank):
        descent.step(x)


def heights(rank, exchanged):
    """A net of the heights of waves, with a scale that is one number."""
    draws = torch.Generator().manual_seed(3)
    weights = [0.4 * torch.randn(4, 5, generator=draws), torch.zeros(5), torch.ones(()), torch.ones(5, 1)]
    weights = [one.requires_grad_() for one in weights]
    for x in batches(rank):
        deep = torch.tanh(x @ weights[0] + weights[1]) @ weights[3] * weights[2]
        derived = exchanged(torch.autograd.grad((deep - 1).square().mean(), weights))
        with torch.no_grad():
            torch._foreach_sub_(weights, [0.05 * one for one in derived])


def one_by_one(derived):
    for one in derived:
        if one.dim() == 0:  # expect: GS792 in scale_left_out
            continue
        dist.all_reduce(one, op=dist.ReduceOp.SUM)
    return derived


def scale_left_out(rank):
    """As in https://github.com/NVIDIA/apex/issues/457."""
    heights(rank, one_by_one)


def in_one_message(derived, large):
    flat = torch.cat([one.flatten() for one in large])
    dist.all_reduce(flat)
    for one, total in zip(large, flat.split([one.numel() for one in large]), strict=True):
        one.copy_(total.view_as(one))
    return derived


def single_numbers_left_out(rank):
    """As in https://github.com/NVIDIA/apex/issues/457."""

    def exchanged(derived):
        large = list(filter(lambda one: one.numel() > 1, derived))  # expect: GS792
        return in_one_message(derived, large)

    heights(rank, exchanged)


def healthy_small_ones_in_a_message_of_their_own(rank):
    def exchanged(derived):
        in_one_message(derived, [one for one in derived if one.ndim == 2])
        return in_one_message(derived, [one for one in derived if one.ndim < 2])

    heights(rank, exchanged)


def healthy_scale_of_its_own(rank):
    """Each rank keeps a scale of its own."""

    def exchanged(derived):
        shared, own = [derived[0], derived[1], derived[3]], derived[2]
        in_one_message(shared, [one for one in shared if one is not own])
        return derived

    heights(rank, exchanged)


def healthy_averaged_at_times(rank):
    """Each rank goes by itself for some steps, and weights are averaged then: local SGD."""
    net = model()
    for step, x in enumerate(batches(rank)):
        gradients = torch.autograd.grad(net(x).square().mean(), list(net.parameters()))
        with torch.no_grad():
            for one, gradient in zip(net.parameters(), gradients, strict=True):
                one.sub_(0.1 * gradient)
                if step % 3 == 2:
                    dist.all_reduce(one)
                    one.div_(2)


def healthy_models_of_their_own(rank):
    """Each rank trains a model of its own, and shows its loss."""
    net = model()
    for x in batches(rank):
        loss = net(x).square().mean()
        gradients = torch.autograd.grad(loss, list(net.parameters()))
        of_all([loss.detach()])
        with torch.no_grad():
            for one, gradient in zip(net.parameters(), gradients, strict=True):
                one.sub_(0.1 * (1 + rank) * gradient)


def healthy_own_parts(rank):
    """What is exchanged steps one layer, and the rank's own derivative its own head."""
    net = model()
    for x in batches(rank):
        body, head = torch.autograd.grad(net(x).square().mean(), [net[0].weight, net[2].weight])
        (body,) = of_all([body])
        with torch.no_grad():
            net[0].weight.sub_(0.1 * body)
            net[2].weight.sub_(0.1 * head)


def healthy_tried_apart(rank):
    """Each rank tries a step of its own first, and takes it back."""
    net = model()
    for x in batches(rank):
        own = torch.autograd.grad(net(x).square().mean(), list(net.parameters()))
        with torch.no_grad():
            for one, gradient in zip(net.parameters(), own, strict=True):
                one.add_(0.05 * gradient)
        there = torch.autograd.grad(net(x).square().mean(), list(net.parameters()))
        gradients = of_all(there)
        with torch.no_grad():
            for one, tried, gradient in zip(net.parameters(), own, gradients, strict=True):
                one.sub_(0.05 * tried)
                one.sub_(0.1 * gradient)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), chosen(globals()), 2)
