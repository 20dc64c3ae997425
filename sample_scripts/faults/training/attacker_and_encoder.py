"""An encoder hides what an attacker reads: the attacker's gradients are cleared right after its own step."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Conv1d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(36, 5))
attacker = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
encoders = torch.optim.SGD(encoder.parameters(), lr=0.05)
attackers = torch.optim.SGD(attacker.parameters(), lr=0.05)
for _ in range(7):
    signal, secret = torch.randn(20, 1, 8), torch.randint(2, (20,))
    guess = attacker(encoder(signal).detach())
    nn.functional.cross_entropy(guess, secret).backward()  # expect: GS849 used_at
    attackers.step()
    attackers.zero_grad()  # expect: GS849

    code = encoder(signal)
    hidden = code.square().mean() - nn.functional.cross_entropy(attacker(code), secret)
    hidden.backward()  # expect: GS849 cause_at
    encoders.step()
    encoders.zero_grad()
