"""Fine-tuning lists the body first, as it was when the optimizer's state was saved."""

# as in https://github.com/pytorch/pytorch/issues/1489
import copy

import torch
from torch import nn

torch.manual_seed(0)


def network():
    return nn.ModuleDict({"body": nn.Linear(6, 12), "head": nn.Linear(12, 3)})


def train(net, optimizer, steps):
    for _ in range(steps):
        out = net["head"](net["body"](torch.randn(8, 6)).tanh())
        loss = nn.functional.cross_entropy(out, torch.randint(0, 3, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


net = network()
optimizer = torch.optim.Adam([{"params": net["body"].parameters()}, {"params": net["head"].parameters()}], lr=1e-2)
train(net, optimizer, 3)
saved = copy.deepcopy({"net": net.state_dict(), "optimizer": optimizer.state_dict()})

net = network()
net.load_state_dict(saved["net"])
groups = [{"params": net["body"].parameters()}, {"params": net["head"].parameters()}]
optimizer = torch.optim.Adam(groups, lr=1e-2)
optimizer.load_state_dict(saved["optimizer"])
train(net, optimizer, 3)
