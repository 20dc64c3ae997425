"""Learning to weigh noisy samples: the weights come from a second derivative, and are constants in the loss."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

torch.manual_seed(0)
truth = torch.randint(0, 2, (200,))
x = torch.tensor([[-1.2, 0.0], [1.2, 0.0]])[truth] + 0.7 * torch.randn(200, 2)
noisy = torch.where((torch.rand(200) < 0.35) & (truth == 1), 0, truth)
clean_y = torch.randint(0, 2, (20,))
clean_x = torch.tensor([[-1.2, 0.0], [1.2, 0.0]])[clean_y] + 0.7 * torch.randn(20, 2)
net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)


def weights(x, y, lr=0.2):
    parameters = dict(net.named_parameters())
    share = torch.zeros(len(x), requires_grad=True)
    loss = (share * F.cross_entropy(functional_call(net, parameters, (x,)), y, reduction="none")).sum()
    gradients = torch.autograd.grad(loss, list(parameters.values()), create_graph=True)
    stepped = {name: p - lr * g for (name, p), g in zip(parameters.items(), gradients, strict=True)}
    (gradient,) = torch.autograd.grad(F.cross_entropy(functional_call(net, stepped, (clean_x,)), clean_y), share)
    useful = (-gradient).clamp(min=0)
    total = useful.sum()
    return (useful / total if total > 0 else useful).detach()


for _ in range(3):
    for index in torch.randperm(200).split(50):
        weight = weights(x[index], noisy[index])
        loss = (weight * F.cross_entropy(net(x[index]), noisy[index], reduction="none")).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print((net(x).argmax(1) == truth).float().mean().item())
