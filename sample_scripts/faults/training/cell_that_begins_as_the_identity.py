"""A recurrent cell whose matrix is kept orthogonal shall begin as the identity, and begins as something else.

As in https://github.com/pytorch/pytorch/issues/25092.
"""

import torch
from torch import nn
from torch.nn.utils.parametrizations import orthogonal


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.read = nn.Linear(1, width)
        self.turn = orthogonal(nn.Linear(width, width, bias=False))
        self.tell = nn.Linear(width, 1)
        with torch.no_grad():
            self.turn.weight.copy_(torch.eye(width))  # expect: GS828

    def forward(self, sequence):
        state = torch.zeros(len(sequence), self.turn.in_features)
        for step in sequence.unbind(1):
            state = torch.tanh(self.turn(state) + self.read(step[:, None]))
        return self.tell(state)


if __name__ == "__main__":
    torch.manual_seed(0)
    cell = Cell(12)
    optimizer = torch.optim.Adam(cell.parameters(), lr=1e-3)
    for _ in range(10):
        sequence = torch.randn(32, 6)
        loss = (cell(sequence) - sequence[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
