"""Pictures are read row by row by a recurrent layer, and classified.

As in https://github.com/pytorch/pytorch/issues/1538.
"""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, width, hidden, classes):
        super().__init__()
        self.rows = nn.LSTM(width, hidden, num_layers=1, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, picture):
        read, _ = self.rows(picture)
        return self.head(read[:, -1])


def main():
    torch.manual_seed(0)
    prototypes = torch.randn(4, 6, 8)
    model = Reader(8, 16, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(30):
        label = torch.randint(0, 4, (20,))
        loss = nn.functional.cross_entropy(model(prototypes[label] + torch.randn(20, 6, 8)), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
