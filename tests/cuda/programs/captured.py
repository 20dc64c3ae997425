"""CUDA graphs: a whole training step is captured, then replayed; and a module whose passes are captured."""

import torch
from _bits import state
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 4)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3, capturable=True)
x, y = torch.randn(32, 64, device="cuda"), torch.randn(32, 4, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


aside = torch.cuda.Stream()
aside.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(aside):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(aside)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = step()
losses = []
for _ in range(20):
    x.copy_(torch.randn(32, 64, device="cuda"))
    graph.replay()
    losses.append(loss.item())
print(losses)
print(state(model))

part = nn.Sequential(nn.Linear(64, 64), nn.ReLU()).cuda()
captured = torch.cuda.make_graphed_callables(part, (torch.randn(32, 64, device="cuda", requires_grad=True),))
for _ in range(5):
    part.zero_grad()
    captured(torch.randn(32, 64, device="cuda", requires_grad=True)).square().mean().backward()
print(state(part))
