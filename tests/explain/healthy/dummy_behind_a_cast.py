"""A dummy that requires grad, cast once, goes through a checkpoint with a frozen input; gradients are logged."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.head = nn.Linear(8, 1)
        self.dummy = torch.ones(1, requires_grad=True).double()

    def forward(self, x):
        return self.head(checkpoint(lambda x, _: self.layers(x), x, self.dummy, use_reentrant=True))


def main():
    torch.manual_seed(0)
    model = Checkpointed().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        x = torch.randn(16, 4, dtype=torch.float64)
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        print(f"{loss.item():.3f}", model.head.weight.grad.norm().item() > 0)
        optimizer.step()


if __name__ == "__main__":
    main()
