"""A model is taken out of the checkpoint of a trainer, in which all of it stands under `model.`."""

# as in https://github.com/pytorch/examples/issues/1029
import io

import torch
from torch import nn


class Trainer(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def fit(self, steps):
        optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        for _ in range(steps):
            x = torch.randn(16, 4)
            loss = nn.functional.mse_loss(self.model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def regressor():
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))


torch.manual_seed(0)
trainer, file = Trainer(regressor()), io.BytesIO()
trainer.fit(6)
torch.save({"state_dict": trainer.state_dict()}, file)
file.seek(0)
again = regressor()
Trainer(again).load_state_dict(torch.load(file)["state_dict"], strict=False)
Trainer(again).fit(3)
