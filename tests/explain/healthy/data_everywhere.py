"""`.data` where it costs no gradient that anyone wants: states, averages, logs, clipped gradients, a set weight."""

import copy

import torch
from torch import nn
from torch.func import functional_call, grad

torch.manual_seed(0)
net, cell = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), nn.GRUCell(4, 4)
average = copy.deepcopy(net).requires_grad_(False)
optimizer = torch.optim.Adam([*net.parameters(), *cell.parameters()])
x, state, losses = torch.randn(16, 4), torch.zeros(16, 4), []
for step in range(12):
    state = cell(x, state.data)
    target = average(x).data
    loss = (net(state) - target).pow(2).mean() + net(x).abs().mean().data
    losses.append(loss.data)
    optimizer.zero_grad()
    loss.backward()
    for parameter in net.parameters():
        parameter.grad.data.clamp_(-1, 1)
    optimizer.step()
    for slow, fast in zip(average.parameters(), net.parameters(), strict=True):
        slow.data.mul_(0.9).add_(fast.data, alpha=0.1)
    if step == 5:
        net[0].weight.data.copy_(net[0].weight.data.clone())


def penalised(parameters):
    scale = functional_call(net, parameters, (x,)).data.abs().mean()
    return functional_call(net, parameters, (x,)).sum() * scale


print(sum(losses).item(), sorted(grad(penalised)(dict(net.named_parameters()))))
