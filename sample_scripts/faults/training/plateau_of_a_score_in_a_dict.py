"""A trainer hands the F1 score of its metrics to a schedule that waits for it to fall."""

# as in https://github.com/md-mohaiminul/ViS4mer/issues/4
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        self.scheduler = ReduceLROnPlateau(self.optimizer, "min", 0.5, patience=0)  # expect: GS857

    def epoch(self, x, y):
        loss = nn.functional.binary_cross_entropy_with_logits(self.model(x).squeeze(1), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        metrics = self.evaluate(x, y)
        self.scheduler.step(metrics["f1"])  # expect: GS857 called_at
        return metrics

    @torch.no_grad()
    def evaluate(self, x, y):
        given = self.model(x).squeeze(1) > 0
        right = (given & (y > 0.5)).sum()
        return {"f1": (2 * right / (given.sum() + y.sum())).item()}


torch.manual_seed(0)
points = torch.randn(80, 5)
trainer = Trainer(nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1)))
for _ in range(8):
    print(trainer.epoch(points, (points[:, 0] > 0.3).float()))
