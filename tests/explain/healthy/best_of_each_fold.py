"""Each fold begins anew; the best state of it is loaded at its end, when nothing more is trained. Then the best of all
is trained on, with another optimizer, on purpose: it is to be tuned, and not gone on with.
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(96, 4)
y = x[:, :2].argmax(1)
states = []
for fold in range(3):
    model = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    best = {"epoch": 0, "model": copy.deepcopy(model.state_dict()), "loss": float("inf")}
    for epoch in range(5):
        model.train()
        loss = nn.functional.cross_entropy(model(x[fold::3]), y[fold::3])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < best["loss"]:
            best.update(epoch=epoch, model=copy.deepcopy(model.state_dict()), loss=loss.item())
    model.load_state_dict(best["model"])
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    print(f"fold {fold}, epoch {best['epoch']}: {right:.2f}")
    states.append((right, best["model"]))

model = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 2))
model.load_state_dict(max(states, key=lambda one: one[0])[1])
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
for _ in range(3):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
