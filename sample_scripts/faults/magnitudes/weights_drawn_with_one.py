"""A regression on measurements, by a network whose weights are drawn from a normal distribution."""
# as in https://taourl.com/read-3018068.html

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.first(x))))


def begin(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0.0, 1.0)  # expect: GS737
        nn.init.zeros_(module.bias)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), Block(64), Block(64), Block(64), nn.Linear(64, 1))
    model.apply(begin)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for _ in range(8):
        x = torch.randn(32, 8)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
