"""Modules between what is trained and the loss that rest on purpose: a judge in evaluation mode, one that was loaded,
and a generator whose input alone is trained.
"""

import torch
from torch import nn

torch.manual_seed(0)


class Judge(nn.Sequential):
    pass


class Loaded(nn.Sequential):
    pass


class Generator(nn.Sequential):
    pass


net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
judge = Judge(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).eval()
loaded = Loaded(nn.Linear(4, 3))
loaded.load_state_dict(Loaded(nn.Linear(4, 3)).state_dict())
for model in (judge, loaded):
    for parameter in model.parameters():
        parameter.requires_grad_(False)
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(6):
    made = net(torch.randn(8, 4))
    loss = judge(made).mean() + loaded(made).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")

generator = Generator(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 4)).requires_grad_(False)
wanted, latent = torch.randn(1, 4), torch.zeros(1, 5, requires_grad=True)
search = torch.optim.Adam([latent], 1e-1)
for _ in range(6):
    distance = (generator(latent) - wanted).pow(2).sum()
    search.zero_grad()
    distance.backward()
    search.step()
print(f"{distance.item():.3f}")
