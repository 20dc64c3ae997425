"""A loop over a DataLoader whose criterion, in another file, copies the prediction."""

import torch
from losses import Criterion
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(16, 5), torch.randn(16, 2))
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
    criterion = Criterion(2)
    optimizer = torch.optim.SGD([*model.parameters(), *criterion.parameters()], lr=0.05)
    for epoch in range(2):
        total = 0.0
        for x, y in DataLoader(data, batch_size=8):
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}")


if __name__ == "__main__":
    main()
