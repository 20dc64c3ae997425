"""A language model with learned positions, trained on longer and longer texts."""

import torch
from torch import nn


class Letters(nn.Module):
    def __init__(self, letters=16, width=12, longest=16):  # expect: GS861
        super().__init__()
        self.table = nn.Embedding(letters, width)
        self.places = nn.Parameter(0.02 * torch.randn(1, longest, width))
        self.read = nn.GRU(width, width, batch_first=True)
        self.scores = nn.Linear(width, letters)

    def forward(self, ids):
        x = self.table(ids)
        x = x + self.places[:, : ids.shape[1]]  # expect: GS861 fails_at
        return self.scores(self.read(x)[0])


def main():
    torch.manual_seed(0)
    model = Letters()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step, length in enumerate((8, 8, 12, 12, 16, 16, 20, 20)):
        ids = (torch.arange(length + 1) + torch.randint(0, 16, (4, 1))) % 16
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
