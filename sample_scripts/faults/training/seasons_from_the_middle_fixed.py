"""Learns the seasons with Adam, from the middle where it was ended."""
# as in https://github.com/AlfredXiangWu/LightCNN/issues/49

import tempfile

import torch
from torch import nn


def batches(steps):
    for _ in range(steps):
        day = torch.rand(32, 1)
        yield day, torch.sin(6.28 * day)


def train(model, steps, path, resume=False):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 30, 0.5)
    done = 0
    if resume:
        kept = torch.load(path)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        done = kept["step"]
    for x, y in batches(steps - done):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        done += 1
    torch.save({"model": model.state_dict(), "step": done, "optimizer": optimizer.state_dict()}, path)
    print(f"step {done} loss {loss.item():.3f}")


def network():
    return nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.NamedTemporaryFile() as file:
        train(network(), 40, file.name)
        train(network(), 80, file.name, resume=True)
