"""CNN with two heads (class and position) in a Trainer.

The class loss is sent backward with retain_graph=True and then once more inside the total.

Related: https://discuss.pytorch.org/t/multi-task-learning-whats-the-difference-between-jointly-backward-and-backward-with-retain-graph-true/28162
"""

import torch
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.cls = nn.Linear(16 * 16, 2)
        self.pos = nn.Linear(16 * 16, 2)

    def forward(self, img):
        f = self.trunk(img)
        return self.cls(f), self.pos(f)


class Trainer:
    def __init__(self, model, lr=0.05, pos_weight=2.0):
        self.model = model
        self.pos_weight = pos_weight
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.ce, self.mse = nn.CrossEntropyLoss(), nn.MSELoss()

    def training_step(self, img, kind, xy):
        self.optimizer.zero_grad()
        logits, pred_xy = self.model(img)
        loss_cls = self.ce(logits, kind)
        loss_pos = self.pos_weight * self.mse(pred_xy, xy)
        loss_cls.backward(retain_graph=True)  # expect: GS806
        loss = loss_cls + loss_pos
        loss.backward()
        self.optimizer.step()
        return loss_cls.item(), loss_pos.item()


def get_batch(n=24, size=16):
    img = 0.1 * torch.randn(n, 1, size, size)
    kind = torch.randint(0, 2, (n,))
    rc = torch.randint(2, size - 2, (n, 2))
    for i in range(n):
        r, c = rc[i].tolist()
        img[i, 0, r - 2 : r + 3, c] += 1.0
        if kind[i]:
            img[i, 0, r, c - 2 : c + 3] += 1.0
    return img, kind, rc.float() / size


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer(TwoHeads())
    for step in range(30):
        a, b = trainer.training_step(*get_batch())
        if step % 10 == 9:
            print(f"step {step + 1} class {a:.4f} position {b:.4f}")
