"""A chain of tests gives the ends of a model rates of their own; what lies between rests."""

import torch
from torch import nn


class Layered(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.neck, self.head = nn.Linear(6, 8), nn.Linear(8, 8, bias=False), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.neck(torch.tanh(self.stem(x)))))


def ends(model):
    first, last = [], []
    for name, tensor in model.named_parameters():
        if "stem" in name:
            first.append(tensor)
        elif "head" in name:
            last.append(tensor)
    return [{"params": first, "lr": 0.01}, {"params": last, "lr": 0.02}]


def main():
    torch.manual_seed(0)
    model = Layered()
    optimizer = torch.optim.Adam(ends(model))
    for _ in range(20):
        x = torch.randn(32, 6)
        loss = (model(x) - x[:, :2]).square().mean()
        model.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.4f}")


main()
