"""The next click of a visit is foretold by a cell whose state is detached at each click, not once for each window.

As in https://github.com/yhs968/pyGRU4REC/issues/8.
"""

import torch
from torch import nn

ITEMS, WINDOW = 30, 8


def train(cell, embed, head, optimizer, visits):
    state = torch.zeros(visits.shape[0], 24)
    for start in range(0, visits.shape[1] - WINDOW, WINDOW):
        total = 0.0
        for at in range(start, start + WINDOW):
            state = cell(embed(visits[:, at]), state)
            total += nn.functional.cross_entropy(head(state), visits[:, at + 1])
            state = state.detach()  # expect: GS850
        optimizer.zero_grad()
        (total / WINDOW).backward()
        optimizer.step()
    return total.item() / WINDOW


torch.manual_seed(0)
cell, embed, head = nn.GRUCell(12, 24), nn.Embedding(ITEMS, 12), nn.Linear(24, ITEMS)
optimizer = torch.optim.Adagrad([*cell.parameters(), *embed.parameters(), *head.parameters()], lr=0.05)
for epoch in range(3):
    visits = (torch.randint(0, ITEMS, (16, 1)) + 3 * torch.arange(33)) % ITEMS
    loss = train(cell, embed, head, optimizer, visits)
print(f"loss {loss:.4f}")
