"""Two encoders are trained by a contrastive loss over the keys of all ranks; one rank is enough to run it.

As in https://github.com/huggingface/accelerate/issues/76.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def of_all_ranks(keys):
    parts = [torch.empty_like(keys) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, keys)
    parts[dist.get_rank()] = keys
    return torch.cat(parts)


def main():
    torch.manual_seed(0)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    encoder = Encoder(12)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.003)
    for step in range(30):
        item = torch.randn(16, 12)
        query = encoder(item + 0.1 * torch.randn_like(item))
        keys = of_all_ranks(encoder(item + 0.1 * torch.randn_like(item)))
        logits = query @ keys.t() / 0.2
        loss = F.cross_entropy(logits, torch.arange(16) + 16 * dist.get_rank())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")
    dist.destroy_process_group()


main()
