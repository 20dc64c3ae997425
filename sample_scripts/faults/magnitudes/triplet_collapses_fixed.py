"""Embeddings of sounds with a triplet loss on the hardest pairs.

As in https://github.com/xiaolonw/caffe-video_triplet/issues/8.
"""

import torch
from torch import nn

KINDS, EACH, WIDTH = 12, 20, 24


def make_sounds():
    gen = torch.Generator().manual_seed(3)
    kinds = torch.arange(KINDS).repeat_interleave(EACH)
    centres = torch.randn(KINDS, WIDTH, generator=gen)
    return centres[kinds] + 1.2 * torch.randn(len(kinds), WIDTH, generator=gen), kinds


def hardest_triplets(points, kinds, margin=0.3):
    apart = ((points[:, None] - points[None]).pow(2).sum(-1) + 1e-12).sqrt()
    same = kinds[:, None] == kinds[None]
    farthest = apart.masked_fill(~same, -1.0).amax(1)
    nearest = apart.masked_fill(same, 1e6).amin(1)
    return torch.relu(farthest - nearest + margin).mean()


def main(steps=140):
    torch.manual_seed(8)
    sounds, kinds = make_sounds()
    net = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(steps):
        pick = torch.randperm(len(sounds))[:64]
        loss = hardest_triplets(net(sounds[pick]), kinds[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
