"""An advantage that is detached on purpose, and sampled actions."""

import torch
from torch import nn

torch.manual_seed(0)
p = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
v = nn.Linear(3, 1)
o = torch.optim.Adam([*p.parameters(), *v.parameters()])
avg = 0.0
for _ep in range(8):
    logs, vals, rews = [], [], []
    for _t in range(5):
        s = torch.randn(3)
        d = torch.distributions.Categorical(logits=p(s))
        a = d.sample()
        logs.append(d.log_prob(a))
        vals.append(v(s).squeeze())
        rews.append(float(a))
    R = torch.tensor(rews)
    V = torch.stack(vals)
    adv = R - V.detach()
    avg = 0.9 * avg + 0.1 * R.mean().item()
    loss = -(torch.stack(logs) * adv).mean() + (V - R).pow(2).mean()
    o.zero_grad()
    loss.backward()
    o.step()
