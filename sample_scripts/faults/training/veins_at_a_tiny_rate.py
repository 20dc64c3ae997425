"""Tells leaves apart by their veins, from the beginning, at a rate for models that are trained already."""
# as in https://taourl.com/read-3046856.html

import torch
from torch import nn

DEFAULTS = {
    "lr": 1e-6,  # expect: GS805
    "momentum": 0.9,
    "epochs": 6,
}


def optimizer_of(model, settings):
    return torch.optim.SGD(model.parameters(), lr=settings["lr"], momentum=settings["momentum"])


def main(settings=DEFAULTS):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 64, 3))
    optimizer = optimizer_of(model, settings)
    labels = torch.randint(0, 3, (192,))
    lines = torch.arange(8).float()
    leaves = torch.sin(lines[None, :, None] * (labels[:, None, None] + 1)) + 0.3 * torch.randn(192, 8, 8)
    for epoch in range(settings["epochs"]):
        for at in range(0, 192, 16):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(leaves[at : at + 16, None]), labels[at : at + 16])
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
