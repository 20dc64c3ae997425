"""Exceptions inside hooks of every kind, contexts and unpack hooks; the next backward is not harmed."""

import torch
from _witness import bits, checkpoint

torch.manual_seed(0)
weight = torch.ones(2, requires_grad=True)


class Mine(Exception):
    pass


def fail(*arguments):
    raise Mine("from a hook")


class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        raise Mine("from a backward")


def tensor(y):
    return y.register_hook(fail)


def leaf(y):
    return weight.register_hook(fail)


def accumulated(y):
    return weight.register_post_accumulate_grad_hook(fail)


def node_after(y):
    return y.grad_fn.register_hook(fail)


def node_before(y):
    return y.grad_fn.register_prehook(fail)


def several(y):
    return torch.autograd.graph.register_multi_grad_hook((weight, y), fail)


def nothing(y):
    return None


for hang in (tensor, leaf, accumulated, node_after, node_before, several, nothing):
    weight.grad = None
    y = weight * 3
    handle = hang(y)
    for _ in range(2):
        try:
            y.exp().sum().backward(retain_graph=True)
        except Mine as error:
            print(hang.__name__, error)
    if handle is not None:
        handle.remove()
    (weight * 2).sum().backward()
    print(hang.__name__, bits(weight.grad), weight._backward_hooks or None)
    del y, handle
layer = torch.nn.Linear(2, 2)
for register in (layer.register_full_backward_hook, layer.register_full_backward_pre_hook, layer.register_forward_hook):
    handle = register(fail)
    try:
        layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
    except Mine as error:
        print(register.__name__, error)
    handle.remove()
    print(len(layer._backward_hooks), len(layer._backward_pre_hooks), len(layer._forward_hooks))
for work in (
    lambda: Broken.apply(weight).sum().backward(),
    lambda: torch.autograd.grad(Broken.apply(weight).sum(), weight),
):
    try:
        work()
    except Mine as error:
        print(error)
try:
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, fail):
        y = weight.exp()
    y.sum().backward()
except Mine as error:
    print("unpack", error)
with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
    weight.exp().sum().backward()


def interrupt(gradient):
    raise KeyboardInterrupt


y = weight * 2
y.register_hook(interrupt)
try:
    y.sum().backward()
except KeyboardInterrupt:
    print("interrupted")
del y, weight.grad
layer.zero_grad()
checkpoint("end")
