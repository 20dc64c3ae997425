"""Click prediction: the labels of a table are integers."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clicks(Dataset):
    def __init__(self, rows):
        self.features = torch.randn(rows, 5)
        self.clicked = (self.features[:, 0] + 0.3 * torch.randn(rows) > 0).long()

    def __len__(self):
        return len(self.features)

    def __getitem__(self, row):
        return self.features[row], self.clicked[row]


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        for features, clicked in DataLoader(Clicks(64), batch_size=16):
            scores = model(features).squeeze(1)
            loss = criterion(scores, clicked.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
