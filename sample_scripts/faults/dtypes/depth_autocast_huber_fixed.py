"""A depth map is predicted under autocast; the loss stands outside, where nothing is converted any more."""

import torch
from torch import nn


class Depth(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Conv2d(3, 6, 3, padding=1)
        self.decode = nn.Conv2d(6, 1, 3, padding=1)

    def forward(self, picture):
        return self.decode(torch.relu(self.encode(picture)))


def main():
    torch.manual_seed(4)
    model = Depth()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    picture, depth = torch.rand(4, 3, 8, 8), torch.rand(4, 1, 8, 8)
    huber = nn.HuberLoss()
    for step in range(3):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            predicted = model(picture)
        loss = huber(predicted.float(), depth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
