"""Tells instruments by the spectra of their tones, on several devices, with a check every few steps.

As in https://github.com/joeynmt/joeynmt/issues/184, where the model that is checked is the one inside of the wrapper.
"""

import torch
from torch import nn

torch.manual_seed(0)
tones = torch.rand(240, 24)
kinds = (tones[:, :6].sum(1) > tones[:, 6:12].sum(1)).long()
held = slice(200, 240)


class Ear(nn.Module):
    def __init__(self):
        super().__init__()
        self.hear = nn.Sequential(nn.Linear(24, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.4))
        self.tell = nn.Linear(32, 2)

    def forward(self, tone):
        return self.tell(self.hear(tone))


def share_told(ear):
    ear.eval()
    with torch.no_grad():
        told = (ear(tones[held]).argmax(1) == kinds[held]).float().mean().item()
    ear.train()
    return told


model = nn.DataParallel(Ear())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.train()
for step in range(24):
    batch = torch.randint(0, 200, (32,))
    loss = nn.functional.cross_entropy(model(tones[batch]), kinds[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 5:
        print(f"{step}: {loss.item():.3f}, {share_told(model.module):.2f} of the held ones")
