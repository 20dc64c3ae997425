"""Embeddings of faces, trained by a loss that has a direction for each person."""

import torch
import torch.nn.functional as F
from torch import nn


class Embedder(nn.Module):
    def __init__(self, size=12):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 32), nn.PReLU(), nn.Linear(32, size))

    def forward(self, faces):
        return F.normalize(self.layers(faces))


class MarginLoss(nn.Module):
    def __init__(self, size, people, margin=0.2, scale=12.0):
        super().__init__()
        self.directions = nn.Parameter(torch.randn(people, size))
        self.margin, self.scale = margin, scale

    def forward(self, embeddings, person):
        cosine = embeddings @ F.normalize(self.directions).t()
        wanted = F.one_hot(person, len(self.directions)).to(cosine)
        return F.cross_entropy(self.scale * (cosine - self.margin * wanted), person)


def fit(embedder, criterion, batches):
    optimizer = torch.optim.SGD([*embedder.parameters(), *criterion.parameters()], lr=0.05, momentum=0.9)
    for faces, person in batches:
        loss = criterion(embedder(faces), person)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(1)
batches = [(torch.randn(20, 10), torch.randint(5, (20,))) for _ in range(18)]
print(f"{fit(Embedder(), MarginLoss(12, 5), batches):.3f}")
