"""Tells faces apart, stops, and goes on from where it stopped."""
# as in https://github.com/AlfredXiangWu/LightCNN/issues/49

import pathlib
import tempfile

import torch
from torch import nn


def fit(path, last, x, y):
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    begin = 0
    if path.exists():
        checkpoint = torch.load(path)
        begin = checkpoint["epoch"]
        model.load_state_dict(checkpoint["state_dict"])  # expect: GS870 called_at
    for epoch in range(begin, last):
        if epoch == 6:
            optimizer.param_groups[0]["lr"] *= 0.1
        for at in range(0, len(x), 32):
            loss = nn.functional.cross_entropy(model(x[at : at + 32]), y[at : at + 32])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        kept = {
            "epoch": epoch + 1,
            "state_dict": model.state_dict(),  # expect: GS870
        }
        torch.save(kept, path)
    return loss.item()


def main():
    torch.manual_seed(0)
    x = torch.randn(128, 6)
    with tempfile.TemporaryDirectory() as folder:
        for last in (7, 9):
            print(f"loss {fit(pathlib.Path(folder, 'last.pt'), last, x, x[:, :3].argmax(1)):.3f}")


if __name__ == "__main__":
    main()
