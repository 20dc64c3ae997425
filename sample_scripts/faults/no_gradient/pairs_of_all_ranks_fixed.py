"""Supervised metric learning: pairs are found among the embeddings of all ranks.

As in https://github.com/KevinMusgrave/pytorch-metric-learning/issues/10.
"""

import torch
import torch.distributed as dist
from torch import nn


def gathered(tensor):
    everybody = [torch.ones_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(everybody, tensor)
    everybody[dist.get_rank()] = tensor
    return torch.cat(everybody)


def pair_loss(embeddings, labels, others, their_labels, margin=1.0):
    distance = torch.cdist(embeddings, others)
    same = labels[:, None] == their_labels[None, :]
    return torch.where(same, distance, (margin - distance).clamp(min=0)).mean()


def main():
    torch.manual_seed(0)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    centers = torch.randn(4, 8)
    model = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(25):
        labels = torch.randint(0, 4, (20,))
        embeddings = model(centers[labels] + 0.3 * torch.randn(20, 8))
        loss = pair_loss(embeddings, labels, gathered(embeddings), gathered(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 0:
            print(f"{step}: {loss.item():.4f}")
    dist.destroy_process_group()


main()
