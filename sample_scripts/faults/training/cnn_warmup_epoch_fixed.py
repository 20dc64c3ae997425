"""CNN on shapes with a "look only" phase before the updates begin.

The number of look-only epochs was set to the number of all epochs, so `epoch > ...` is never true and the
weights never change.
"""

import torch
import torch.nn.functional as F
from torch import nn

cfg = {
    "epochs": 5,
    "observe_epochs": 0,
    "batch": 24,
    "batches_per_epoch": 5,
    "lr": 0.01,
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 3, padding=1)
        self.c2 = nn.Conv2d(6, 12, 3, padding=1)
        self.fc = nn.Linear(12 * 3 * 3, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def get_batch(n):
    y = torch.randint(0, 2, (n,))
    x = 0.3 * torch.randn(n, 1, 12, 12)
    for i, c in enumerate(y.tolist()):
        if c:
            x[i, 0, 3:9, 3:9] += 1.0
        else:
            x[i, 0, range(12), range(12)] += 1.5
    return x, y


def grad_size(net):
    return sum(p.grad.abs().mean().item() for p in net.parameters())


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])

for epoch in range(cfg["epochs"]):
    losses, sizes = [], []
    for _ in range(cfg["batches_per_epoch"]):
        x, y = get_batch(cfg["batch"])
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        losses.append(loss.item())
        sizes.append(grad_size(net))
        if epoch > cfg["observe_epochs"]:
            opt.step()
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} grads {sum(sizes) / len(sizes):.5f}")
