"""One cycle of the learning rate is laid out for all batches, and stepped once for four of them.

As in https://github.com/huggingface/diffusers/issues/4387.
"""

import torch
from torch import nn

TOGETHER, BATCHES = 4, 160


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        max_lr=0.1,
        total_steps=BATCHES,  # expect: GS875
    )
    for batch in range(1, BATCHES + 1):
        x = torch.randn(8, 5, generator=generator)
        loss = nn.functional.mse_loss(model(x), x[:, :1] * x[:, 1:2])
        (loss / TOGETHER).backward()
        if batch % TOGETHER == 0:
            optimizer.step()
            schedule.step()  # expect: GS875 called_at
            optimizer.zero_grad()
        if batch % 40 == 0:
            print(f"batch {batch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
