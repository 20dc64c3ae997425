"""The positive pair of a contrastive loss is divided by the temperature, as its negatives are. As in https://github.com/RElbers/info-nce-pytorch/pull/17."""

import torch
import torch.nn.functional as F
from torch import nn


class Contrast(nn.Module):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature

    def forward(self, query, positive, negatives):
        query, positive, negatives = (F.normalize(one, dim=-1) for one in (query, positive, negatives))
        near = (query * positive).sum(-1, keepdim=True) / self.temperature
        far = query @ negatives.T / self.temperature
        scores = torch.cat([near, far], dim=1)
        return F.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long))


if __name__ == "__main__":
    torch.manual_seed(0)
    spectra, molecules, contrast = nn.Linear(12, 8), nn.Linear(6, 8), Contrast()
    optimizer = torch.optim.Adam([*spectra.parameters(), *molecules.parameters()], lr=1e-2)
    for _ in range(12):
        code = torch.randn(64, 6)
        seen = torch.cat([code, code.square()], 1)
        loss = contrast(spectra(seen[:16]), molecules(code[:16]), molecules(code[16:]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
