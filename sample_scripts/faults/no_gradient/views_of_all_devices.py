"""SimCLR: both views of an image come from the same network, the negatives from all devices.

As in https://github.com/kohjingyu/fromage/issues/33.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F


class Gather:
    """Collects what all devices have."""

    def __init__(self, world):
        self.world = world

    def __call__(self, mine):
        room = [torch.zeros_like(mine) for _ in range(self.world)]
        dist.all_gather(room, mine)  # expect: GS785
        return room


def nt_xent(first, second, temperature=0.5):
    both = torch.cat([first, second])
    similarity = F.cosine_similarity(both[:, None], both[None, :], dim=-1) / temperature
    similarity = similarity.masked_fill(torch.eye(len(both), dtype=torch.bool), -1e9)
    count = len(first)
    positives = torch.cat([torch.arange(count, 2 * count), torch.arange(count)])
    return F.cross_entropy(similarity, positives)


def main():
    torch.manual_seed(0)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    gather = Gather(dist.get_world_size())
    network = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    for step in range(30):
        image = torch.randn(16, 10)
        first = network(image + 0.1 * torch.randn_like(image))
        second = network(image + 0.1 * torch.randn_like(image))
        loss = nt_xent(first, torch.cat(gather(second)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")
    dist.destroy_process_group()


main()
