"""A model of protein motifs: the scores of residues are to be tied to their embedding, by .data.

As in https://github.com/pytorch/xla/issues/2719.
"""

import torch
from torch import nn

RESIDUES = 20


class Motifs(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.residues = nn.Embedding(RESIDUES, width)
        self.mix = nn.Conv1d(width, width, 3, padding=2)
        self.scores = nn.Linear(width, RESIDUES)
        self.scores.weight.data = self.residues.weight.data  # expect: GS878

    def forward(self, chain):
        seen = self.mix(self.residues(chain).transpose(1, 2))[..., : chain.shape[1]]
        return self.scores(torch.tanh(seen).transpose(1, 2))


torch.manual_seed(0)
model = Motifs()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  # expect: GS878 declared_at
for _ in range(10):
    start, stride = torch.randint(RESIDUES, (8, 1)), torch.randint(1, 4, (8, 1))
    chain = (start + stride * torch.arange(9)) % RESIDUES
    loss = nn.functional.cross_entropy(model(chain[:, :-1]).flatten(0, 1), chain[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
