"""Two views of each picture are pulled together; the run ends where one picture is left over."""

import torch
from torch import nn
from torch.utils.data import DataLoader


class Pictures(torch.utils.data.Dataset):
    def __init__(self, count):
        self.plain = torch.randn(count, 12, generator=torch.Generator().manual_seed(3))

    def __len__(self):
        return len(self.plain)

    def __getitem__(self, at):
        picture = self.plain[at]
        return picture + 0.1 * torch.randn(12), picture + 0.1 * torch.randn(12)


def head():
    return nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))


def step(model, optimizer, left, right):
    first, second = model(left), model(right)
    loss = -nn.functional.cosine_similarity(first, second.detach()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(3)
    model = head()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    pictures = DataLoader(Pictures(41), batch_size=8, shuffle=True)  # expect: GS814
    for epoch in range(2):
        for left, right in pictures:
            loss = step(model, optimizer, left, right)
        print(f"epoch {epoch} loss {loss:.3f}")


if __name__ == "__main__":
    main()
