"""Train with hooks and batches of several sizes: compiled autograd can run most backwards with one captured graph."""

import torch
import torch.nn.functional as F
from torch import nn

BATCHES = (8, 8, 6, 7, 5, 8)


def halve(gradient):
    return gradient / 2


def clip(parameter):
    parameter.grad.clamp_(-1, 1)


class Watch:
    """Counts how often a node ran."""

    def __init__(self):
        self.runs = 0

    def before(self, gradients):
        self.runs += 1


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    model[0].weight.register_post_accumulate_grad_hook(clip)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = Watch()
    for step, size in enumerate(BATCHES):
        x = torch.randn(size, 4)
        hidden = model[1](model[0](x))
        hidden.register_hook(halve)
        loss = F.mse_loss(model[2](hidden), x.sum(1, keepdim=True))
        if step == 4:
            loss = loss + hidden.square().mean()  # a node that no backward had before
        loss.grad_fn.register_prehook(watch.before)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"final loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
