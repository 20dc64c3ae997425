"""Tensors, nodes and contexts die when they would: gc off, and after a collection."""

import gc

import torch
from _witness import Lives, checkpoint
from torch.utils.checkpoint import checkpoint as recompute

gc.disable()
contexts, nodes = Lives(), Lives()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        contexts.add(ctx)
        ctx.save_for_backward(x)
        ctx.kept = torch.ones(3)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        contexts.add(ctx)
        with torch.enable_grad():
            ctx.inner = x.detach().requires_grad_()
            ctx.output = Square.apply(ctx.inner).exp()
        return ctx.output.detach()

    @staticmethod
    def backward(ctx, gradient):
        return torch.autograd.grad(ctx.output, ctx.inner, gradient)[0]


weight = torch.ones(4, requires_grad=True)
layer = torch.nn.Linear(4, 4)
kept = []


def keeping_hook(gradient):
    kept.append(gradient * weight)  # a graph tensor, made in a backward
    return gradient


def hooks_keep():
    y = Square.apply(weight)
    y.register_hook(keeping_hook)
    y.sum().backward()


def hooks_keep_with_grad():
    y = Square.apply(weight)

    def hook(gradient):
        with torch.enable_grad():
            kept.append(Square.apply(weight) * gradient)

    y.register_hook(hook)
    y.sum().backward()


def node_hooks():
    y = Square.apply(weight).exp()
    y.grad_fn.register_hook(lambda passed, received: kept.append(passed[0]))
    y.grad_fn.register_prehook(lambda received: None)
    y.sum().backward()


def created():
    (slope,) = torch.autograd.grad(Square.apply(weight).sum(), weight, create_graph=True)
    slope.square().sum().backward()


def created_and_left():
    torch.autograd.grad(Square.apply(weight).exp().sum(), weight, create_graph=True)


def created_in_grad():
    Square.apply(weight).sum().backward(create_graph=True)
    weight.grad = None


def penalty():
    x = torch.ones(2, 4, requires_grad=True)
    (slope,) = torch.autograd.grad(layer(Square.apply(x)).sum(), x, create_graph=True)
    (slope.norm() + layer(x).sum()).backward()


def checkpointed(reentrant):
    def run(x):
        return Square.apply(layer(x)).exp()

    x = torch.ones(2, 4, requires_grad=True)
    recompute(run, x, use_reentrant=reentrant).sum().backward()


def nested():
    Nested.apply(weight).sum().backward()


def raising():
    y = Square.apply(weight)
    y.register_hook(lambda gradient: 1 / 0)
    try:
        y.sum().backward()
    except ZeroDivisionError:
        pass


def retained():
    y = Square.apply(weight)
    y.retain_grad()
    z = y.sum()
    z.backward(retain_graph=True)
    z.backward()


def module_hooks():
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    module[0].register_full_backward_hook(lambda module, passed, received: None)
    module.register_full_backward_pre_hook(lambda module, received: None)
    for _ in range(2):
        module(torch.ones(2, 4, requires_grad=True)).sum().backward()


def cycle():
    y = Square.apply(weight)
    y.grad_fn.metadata["self"] = [y]  # the script's own
    y.sum().backward()


def double_backward_in_a_hook():
    y = Square.apply(weight).exp()

    def hook(gradient):
        with torch.enable_grad():
            torch.autograd.grad(Square.apply(weight).sum(), weight, create_graph=True)

    y.register_hook(hook)
    y.sum().backward()


def not_backwarded():
    Square.apply(weight).exp()


for work in (
    hooks_keep,
    hooks_keep_with_grad,
    node_hooks,
    created,
    created_and_left,
    created_in_grad,
    penalty,
    lambda: checkpointed(True),
    lambda: checkpointed(False),
    nested,
    raising,
    retained,
    module_hooks,
    cycle,
    double_backward_in_a_hook,
    not_backwarded,
):
    for repeat in range(3):
        work()
        weight.grad = None
        layer.zero_grad()
        kept.clear()
        checkpoint(f"{work.__name__} {repeat}", contexts)
