"""Activities of a table, numbered from 1 as in the file that they come from."""
# as in https://www.codegenes.net/blog/target-is-out-of-bounds-pytorch

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Activities(Dataset):
    def __init__(self, rows):
        self.labels = [int(row[0]) for row in rows]  # expect: GS818
        self.signals = torch.tensor([row[1:] for row in rows])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.signals[index], self.labels[index]


def rows_of_a_file(count):
    generator = torch.Generator().manual_seed(1)
    kinds = torch.randint(1, 5, (count,), generator=generator)
    signals = torch.randn(count, 6, generator=generator) + kinds[:, None]
    return [[int(kind), *signal.tolist()] for kind, signal in zip(kinds, signals, strict=True)]


def main():
    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4)), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for signals, labels in DataLoader(Activities(rows_of_a_file(64)), batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(signals), labels)  # expect: GS818 fails_at
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
