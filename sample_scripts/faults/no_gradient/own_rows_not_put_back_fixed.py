"""Captions are matched with clips of sound over all ranks; a rank's own captions are not put back among the gathered.

As in https://github.com/huggingface/accelerate/issues/1154. One rank is enough to run it.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel


def of_all_ranks(rows, own=False):
    """With `own`, this rank's rows stay in the graph."""
    parts = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, rows.detach())
    if own:
        parts[dist.get_rank()] = rows
    return torch.cat(parts)


def main():
    torch.manual_seed(0)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    sounds = DistributedDataParallel(nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 8)))
    captions = DistributedDataParallel(nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 8)))
    optimizer = torch.optim.Adam([*sounds.parameters(), *captions.parameters()], lr=0.003)
    mixing = torch.randn(10, 6)
    for step in range(30):
        clip = torch.randn(16, 10)
        text = torch.tanh(clip @ mixing)
        heard = of_all_ranks(F.normalize(sounds(clip), dim=1), own=True)
        read = of_all_ranks(F.normalize(captions(text), dim=1), own=True)
        loss = F.cross_entropy(heard @ read.t() / 0.2, torch.arange(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")
    dist.destroy_process_group()


main()
