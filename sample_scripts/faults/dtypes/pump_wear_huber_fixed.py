"""The wear of pumps is predicted from their vibration; the wear comes out of numpy in double precision."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pumps(Dataset):
    def __init__(self, count):
        rng = np.random.default_rng(5)
        self.vibration = rng.standard_normal((count, 10)).astype(np.float32)
        self.wear = np.abs(self.vibration).mean(axis=1, dtype=np.float64)

    def __len__(self):
        return len(self.wear)

    def __getitem__(self, at):
        wear = torch.tensor([self.wear[at]], dtype=torch.float32)
        return torch.from_numpy(self.vibration[at]), wear


def main():
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.HuberLoss(delta=0.5)
    for epoch in range(2):
        for vibration, wear in DataLoader(Pumps(40), batch_size=8):
            loss = criterion(model(vibration), wear)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
