"""A program for compiled autograd: each step is one backward; at the end it prints torch's own count of captures."""

import torch
from torch._dynamo.utils import counters

torch.manual_seed(0)
W = torch.nn.Parameter(torch.randn(3, 3))


def tensor_hook(gradient):
    return gradient * 3


def node_prehook(gradients):
    return None


def node_hook(inputs, outputs):
    return None


def post_accumulate(parameter):
    parameter.grad.mul_(2)


def pack(tensor):
    return tensor * 1


def unpack(tensor):
    return tensor


def step(size, extra=False):
    y = (torch.ones(size, 3) @ W).sin() * 2
    y.register_hook(tensor_hook)
    y = y.exp() if extra else y  # extra
    total = y.sum()
    total.grad_fn.register_prehook(node_prehook)
    total.grad_fn.register_hook(node_hook)
    total.backward()


def main():
    W.register_post_accumulate_grad_hook(post_accumulate)
    step(4)  # captured: the first
    step(4)  # captured: .grad is there now
    step(5)  # hit
    step(6)  # hit
    step(5, extra=True)  # captured: a new node
    step(7)  # hit
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        kept = W.sin().sum()
    kept.backward()  # captured: nodes with packed tensors
    torch.compile(lambda x: (x.cos() * x).sum(), backend="aot_eager")(W).backward()  # captured: a compiled backward
    print("captures", counters["compiled_autograd"]["captures"])
    print(f"sum {W.grad.sum().item():.6f}")


if __name__ == "__main__":
    main()
