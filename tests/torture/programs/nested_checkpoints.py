"""A derivative of a checkpointed derivative of a checkpoint: nodes outlive it, and stderr fills with warnings."""

import gc
import weakref

import torch
from torch.utils.checkpoint import checkpoint


class Mark:
    pass


def derivative(f):
    return lambda x: torch.autograd.grad(f(x), x, create_graph=True)[0]


def saved(f):
    return lambda *a: checkpoint(f, *a, use_reentrant=False)


def marks(f):
    todo = [f(torch.randn((), requires_grad=True)).grad_fn]
    seen, refs = set(todo), []
    while todo:
        node = todo.pop()
        mark = node.metadata["mark"] = Mark()
        refs.append(weakref.ref(mark))
        new = [one for one, _ in node.next_functions if one is not None and one not in seen]
        seen.update(new)
        todo += new
    return refs


f = derivative(saved(derivative(lambda x: x.sin().exp().sin())))
refs = [marks(f) for _ in range(20)]
print("alive", sum(r() is not None for one in refs for r in one), "of", sum(map(len, refs)), end=" ")
gc.collect()
print("after a collection", sum(r() is not None for one in refs for r in one))
