"""torch's AveragedModel follows a forecaster, which takes over its state to be scored.

As in https://github.com/huggingface/diffusers/issues/2321.
"""

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRU(1, 12, batch_first=True), nn.Linear(12, 1)

    def forward(self, x):
        return self.out(self.cell(x)[0][:, -1])


class Trainer:
    def __init__(self, model):
        self.model = model
        self.averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step(self, x, y):
        loss = nn.functional.l1_loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.averaged.update_parameters(self.model)
        return loss.item()

    @torch.no_grad()
    def score(self, x, y):
        self.model.load_state_dict(self.averaged.module.state_dict())  # expect: GS898
        return nn.functional.l1_loss(self.model(x), y).item()


def main():
    torch.manual_seed(0)
    wave = torch.sin(torch.arange(400) * 0.3) + 0.1 * torch.randn(400)
    windows = wave.unfold(0, 13, 3)
    x, y = windows[:, :12, None], windows[:, 12:]
    trainer = Trainer(Forecaster())
    for epoch in range(4):
        for rows in torch.randperm(96).split(12):
            loss = trainer.step(x[rows], y[rows])
        print(f"{epoch}: {loss:.4f} {trainer.score(x[96:], y[96:]):.4f}")


main()
