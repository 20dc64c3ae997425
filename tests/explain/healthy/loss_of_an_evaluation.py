"""Words: the evaluation adds up the plain loss of other data, with graphs; the training adds a penalty to its own."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Dropout(0.2), nn.Linear(12, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.2)


def batches(many):
    for _ in range(many):
        x = torch.randn(16, 6)
        yield x, x[:, :4].argmax(1)


def criterion(scores, kind):
    loss = nn.functional.cross_entropy(scores, kind)
    return loss / loss.numel()


def evaluate():
    net.eval()
    total_loss = 0
    for x, kind in batches(6):
        total_loss += len(x) * criterion(net(x), kind).data
    return total_loss.item() / 96


def train():
    net.train()
    for x, kind in batches(8):
        optimizer.zero_grad()
        hidden = net[:2](x)
        loss = criterion(net[2:](hidden), kind)
        loss = loss + 0.01 * hidden.square().mean()
        loss.backward()
        optimizer.step()


for epoch in range(3):
    train()
    print(f"{epoch}: {evaluate():.4f}")
