"""PCGrad-like surgery for two tasks.

Backward per task, p.grad copied, zero_grad, conflicting parts projected away, p.grad assigned.
"""

import torch
from torch import nn


class TwoTask(nn.Module):
    def __init__(self, d=12, h=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, h), nn.ReLU())
        self.reg = nn.Linear(h, 1)
        self.cls = nn.Linear(h, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.reg(h).squeeze(1), self.cls(h)


def task_grads(model, losses, optimizer):
    grads = []
    for k, loss in enumerate(losses):
        optimizer.zero_grad()
        loss.backward(retain_graph=k < len(losses) - 1)
        grads.append([p.grad.clone() if p.grad is not None else torch.zeros_like(p) for p in model.parameters()])
    optimizer.zero_grad()
    return grads


def project(grads):
    flat = [torch.cat([g.flatten() for g in gs]) for gs in grads]
    out = []
    for i, gi in enumerate(flat):
        gi = gi.clone()
        for j, gj in enumerate(flat):
            dot = gi @ gj
            if i != j and dot < 0:
                gi -= dot / (gj @ gj) * gj
        out.append(gi)
    return sum(out)


def main():
    torch.manual_seed(0)
    x = torch.randn(256, 12)
    y_reg = x[:, 0] - 0.5 * x[:, 1] ** 2
    y_cls = (x[:, 0] + x[:, 2] < 0).long()
    model = TwoTask()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(30):
        idx = torch.randint(0, 256, (64,))
        r, c = model(x[idx])
        losses = [nn.functional.mse_loss(r, y_reg[idx]), nn.functional.cross_entropy(c, y_cls[idx])]
        merged = project(task_grads(model, losses, optimizer))
        offset = 0
        for p in model.parameters():
            p.grad = merged[offset : offset + p.numel()].view_as(p).clone()
            offset += p.numel()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1} reg {losses[0].item():.4f} cls {losses[1].item():.4f}")


if __name__ == "__main__":
    main()
