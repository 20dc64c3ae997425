"""Reconstructs digits, with a second term by which a code is to look like noise."""
# as in https://duoke360.com/post/34567

import torch
from torch import nn


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode, self.prior = nn.Linear(8, 3), nn.Linear(3, 8), nn.Linear(3, 1)

    def losses(self, x):
        code = self.encode(x)
        rebuilt = nn.functional.mse_loss(self.decode(torch.tanh(code)), x)
        return rebuilt, self.prior(code).square().mean()


def main():
    torch.manual_seed(0)
    model = Coder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        rebuilt, prior = model.losses(torch.randn(16, 8))
        loss = rebuilt + 0.1 * prior
        optimizer.zero_grad()
        rebuilt.backward()  # expect: GS869
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
