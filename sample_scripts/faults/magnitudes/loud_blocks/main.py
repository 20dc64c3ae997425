"""Training over several epochs; a schedule, a validation, and blocks that each make the gradient larger."""

import torch
from blocks import Network
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def epoch(network, loader, optimizer):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.smooth_l1_loss(network(x).squeeze(1), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    x = torch.randn(96, 5)
    loader = DataLoader(TensorDataset(x, x.sin().sum(1)), batch_size=32, shuffle=True)
    network = Network(5)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    for number in range(3):
        print(number, epoch(network, loader, optimizer))
        schedule.step()
    with torch.no_grad():
        print("validation", network(x[:8]).abs().mean().item())


main()
