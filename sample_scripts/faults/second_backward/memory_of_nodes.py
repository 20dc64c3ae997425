"""A memory of nodes is kept with its graph, beside their times (memgraph/mage pull 121)."""

import torch
from torch import nn

torch.manual_seed(0)


class Memory(nn.Module):
    def __init__(self, nodes, size):
        super().__init__()
        self.cell = nn.GRUCell(size, size)
        self.register_buffer("state", torch.zeros(nodes, size))
        self.register_buffer("seen", torch.zeros(nodes))

    def note(self, nodes, messages, time):
        fresh = self.cell(messages, self.state[nodes])
        self.state = self.state.index_copy(0, nodes, fresh)  # expect: GS712
        self.seen[nodes] = time
        return fresh


memory, head = Memory(30, 8), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*memory.parameters(), *head.parameters()], lr=1e-2)
for time in range(12):
    nodes = torch.randperm(30)[:10]
    fresh = memory.note(nodes, torch.randn(10, 8), float(time))
    loss = (head(fresh).squeeze(1) - nodes / 30).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
