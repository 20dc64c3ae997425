"""A small language model is trained compiled, and written to continue on a machine that does not compile."""
# as in https://github.com/rasbt/LLMs-from-scratch/issues/580

import tempfile
from pathlib import Path

import torch
from torch import nn


class Letters(nn.Module):
    def __init__(self, letters=12, width=16):
        super().__init__()
        self.table = nn.Embedding(letters, width)
        self.read = nn.GRU(width, width, batch_first=True)
        self.score = nn.Linear(width, letters)

    def forward(self, ids):
        return self.score(self.read(self.table(ids))[0])


def train(model, ids, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    ids = torch.arange(9).remainder(12).repeat(8, 1)
    model = torch.compile(Letters(), backend="eager")
    print("first run", train(model, ids, 8))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "letters.pt"
        torch.save(model.state_dict(), path)
        again = Letters()
        again.load_state_dict(torch.load(path))  # expect: GS860
    print("second run", train(again, ids, 8))


if __name__ == "__main__":
    main()
