"""SwAV-like clustering of vectors with Sinkhorn assignments under no_grad, normalised over rows and over columns."""

import torch
import torch.nn.functional as F
from torch import nn

PROTOTYPES = 6


@torch.no_grad()
def sinkhorn(scores, eps=0.1, rounds=3):
    log_q = scores / eps
    for _ in range(rounds):
        log_q = F.log_softmax(log_q, dim=0)
        log_q = F.log_softmax(log_q, dim=1)
    return log_q.exp()


class Clusterer(nn.Module):
    def __init__(self, d_in=10, d=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d_in, 32), nn.ReLU(), nn.Linear(32, d))
        self.prototypes = nn.Linear(d, PROTOTYPES, bias=False)

    def forward(self, x):
        return self.prototypes(F.normalize(self.encoder(x), dim=-1))

    @torch.no_grad()
    def normalise_prototypes(self):
        self.prototypes.weight.copy_(F.normalize(self.prototypes.weight, dim=-1))


def swapped_loss(a, b, temperature=0.2):
    qa, qb = sinkhorn(a), sinkhorn(b)
    la, lb = F.log_softmax(a / temperature, dim=-1), F.log_softmax(b / temperature, dim=-1)
    return F.kl_div(la, qb, reduction="batchmean") + F.kl_div(lb, qa, reduction="batchmean")


torch.manual_seed(0)
centers = 2 * torch.randn(PROTOTYPES, 10)
model = Clusterer()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(1, 61):
    model.normalise_prototypes()
    x = centers[torch.randint(0, PROTOTYPES, (96,))]
    a, b = model(x + 0.3 * torch.randn_like(x)), model(x + 0.3 * torch.randn_like(x))
    loss = swapped_loss(a, b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        used = len(a.argmax(1).unique())
        print(f"step {step} loss {loss.item():.4f} prototypes in use {used}")
