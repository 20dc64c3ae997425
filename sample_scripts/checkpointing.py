"""Train a deep network with activation checkpointing of both kinds: the reentrant one runs a backward in a backward."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

STEPS = 5


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.dropout(torch.relu(self.linear(self.norm(x))))


class Network(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Linear(4, width)
        self.lower = nn.Sequential(Layer(width), Layer(width))
        self.upper = nn.Sequential(Layer(width), Layer(width))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.embed(x)
        x = checkpoint(self.lower, x, use_reentrant=False)
        x = checkpoint(self.upper, x, use_reentrant=True)
        return self.head(x)


def main():
    torch.manual_seed(11)
    torch.set_num_threads(1)
    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    inputs = torch.randn(32, 4)
    targets = inputs.norm(dim=1, keepdim=True)
    for step in range(STEPS):
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")
    print(f"final loss {loss.item():.9f}")


if __name__ == "__main__":
    main()
