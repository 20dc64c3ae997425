"""Nodes are encoded once an epoch, in front of the loop over batches of edges that trains their encoder."""

# as in https://github.com/karpathy/nn-zero-to-hero/issues/31
import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, nodes, width):
        super().__init__()
        self.embedding, self.mix = nn.Embedding(nodes, width), nn.Linear(width, width)

    def forward(self, neighbours):
        h = self.embedding.weight
        h = torch.relu(self.mix(neighbours @ h)) + h
        return h


torch.manual_seed(0)
nodes = 20
neighbours = F.normalize((torch.rand(nodes, nodes) > 0.7).float() + torch.eye(nodes), p=1, dim=1)
edges, linked = torch.randint(0, nodes, (48, 2)), (torch.rand(48) > 0.5).float()
encoder = Encoder(nodes, 8)
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
for epoch in range(2):
    z = encoder(neighbours)  # expect: GS712
    for batch, wanted in zip(edges.split(16), linked.split(16), strict=True):
        score = (z[batch[:, 0]] * z[batch[:, 1]]).sum(1)
        loss = F.binary_cross_entropy_with_logits(score, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
