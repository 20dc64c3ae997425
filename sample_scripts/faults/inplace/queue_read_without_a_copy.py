"""A queue of keys is read detached, which is no copy, and written to before the loss has been differentiated."""

# as in https://github.com/facebookresearch/moco/issues/21
import torch
import torch.nn.functional as F
from torch import nn


class Contrast(nn.Module):
    def __init__(self, width=8, length=32):
        super().__init__()
        self.query, self.cursor = nn.Linear(6, width), 0
        self.register_buffer("queue", F.normalize(torch.randn(width, length), dim=0))

    @torch.no_grad()
    def enqueue(self, keys):
        self.queue[:, self.cursor : self.cursor + len(keys)] = keys.t()
        self.cursor = (self.cursor + len(keys)) % self.queue.shape[1]

    def forward(self, one, other):
        q, k = F.normalize(self.query(one), dim=1), F.normalize(self.query(other), dim=1).detach()
        positive = (q * k).sum(1, keepdim=True)
        negative = q @ self.queue.detach()  # expect: GS701
        loss = F.cross_entropy(torch.cat([positive, negative], 1) / 0.1, torch.zeros(len(q), dtype=torch.long))
        self.enqueue(k)
        return loss


torch.manual_seed(0)
model = Contrast()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(8, 6)
    loss = model(x, x + 0.1 * torch.randn_like(x))
    optimizer.zero_grad()
    loss.backward()  # expect: GS701 fails_at
    optimizer.step()
