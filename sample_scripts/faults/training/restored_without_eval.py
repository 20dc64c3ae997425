"""Trains, keeps the best state, and tries it on new rows."""
# as in https://duoke360.com/post/35214

import io

import torch
from torch import nn


class Activity(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.body(x))


@torch.no_grad()
def accuracy(model, x):
    return (model(x).argmax(1) == x[:, :3].argmax(1)).float().mean().item()  # expect: GS811 called_at


def restore(kept):
    model = Activity()
    model.load_state_dict(torch.load(kept))  # expect: GS811
    return model


def main():
    torch.manual_seed(0)
    model, kept, held = Activity(), io.BytesIO(), torch.randn(64, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        model.train()
        for _ in range(6):
            x = torch.randn(32, 6)
            loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        print(f"accuracy {accuracy(model, held):.2f}")
    torch.save(model.state_dict(), kept)
    kept.seek(0)
    print(f"restored {accuracy(restore(kept), held):.2f}")


if __name__ == "__main__":
    main()
