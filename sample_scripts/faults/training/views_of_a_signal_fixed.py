"""Two views of a signal and a queue of old ones: the queue is compared at the same temperature. As in https://github.com/RElbers/info-nce-pytorch/pull/17."""

import torch
import torch.nn.functional as F
from torch import nn

TEMPERATURE = 0.2


def loss_of(encoder, first, second, queue):
    query, key = F.normalize(encoder(first), dim=1), F.normalize(encoder(second), dim=1).detach()
    near = torch.einsum("nc,nc->n", [query, key]) / TEMPERATURE
    far = torch.einsum("nc,ck->nk", [query, queue]) / TEMPERATURE
    scores = torch.cat([near[:, None], far], dim=1)
    return torch.logsumexp(scores, dim=1).sub(scores[:, 0]).mean(), key


if __name__ == "__main__":
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))
    queue = F.normalize(torch.randn(8, 64), dim=0)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(12):
        signal = torch.randn(16, 20)
        noisy = (signal + 0.1 * torch.randn(16, 20) for _ in range(2))
        loss, keys = loss_of(encoder, *noisy, queue)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        queue = torch.cat([queue[:, 16:], keys.T], 1)
    print(f"loss {loss.item():.3f}")
