"""Batches from workers, pinned, copied while the device computes."""

import torch
from _bits import state
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(256, 16), torch.randint(4, (256,)))
    loader = DataLoader(data, 32, num_workers=2, pin_memory=True, persistent_workers=True)
    model = nn.Sequential(nn.Linear(16, 32), nn.Dropout(0.1), nn.ReLU(), nn.Linear(32, 4)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    for _ in range(3):
        total = 0.0
        for batch in loader:
            x, y = (one.cuda(non_blocking=True) for one in batch)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(total)
    print(state(model))


if __name__ == "__main__":
    main()
