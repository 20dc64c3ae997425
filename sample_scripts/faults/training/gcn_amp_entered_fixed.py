"""Two-layer GCN on a graph of communities whose printed loss does not move, in bfloat16 mixed precision."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
N, CLASSES = 120, 3

community = torch.arange(N) % CLASSES
same = community[:, None] == community[None, :]
adj = (torch.rand(N, N) < torch.where(same, 0.15, 0.02)).float()
adj = ((adj + adj.T) > 0).float().fill_diagonal_(1.0)
norm = adj.sum(1).rsqrt()
a_hat = norm[:, None] * adj * norm[None, :]
features = F.one_hot(community, CLASSES).float() + torch.randn(N, CLASSES)
train_nodes = torch.randperm(N)[:40]


class GCN(nn.Module):
    def __init__(self, d_in, hidden, d_out):
        super().__init__()
        self.first = nn.Linear(d_in, hidden)
        self.second = nn.Linear(hidden, d_out)

    def forward(self, x, a):
        return a @ self.second(F.relu(a @ self.first(x)))


model = GCN(CLASSES, 16, CLASSES)
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
amp = torch.autocast("cpu", dtype=torch.bfloat16)

for epoch in range(1, 31):
    optimizer.zero_grad()
    with amp:
        out = model(features, a_hat)
        loss = F.cross_entropy(out[train_nodes].float(), community[train_nodes])
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")

with torch.no_grad():
    hits = model(features, a_hat).argmax(1) == community
print(f"accuracy on all nodes {hits.float().mean():.3f}")
