"""The groups stand in the order in which they were when the checkpoint was saved."""

# as in https://github.com/piergiaj/pytorch-i3d/issues/38
import copy

import torch
from torch import nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.project, self.out = nn.Linear(5, 7), nn.Linear(7, 2)

    def forward(self, x):
        return self.out(self.project(x).relu())


class Trainer:
    def __init__(self, model, without_decay_first):
        self.model = model
        plain = {"params": [one for one in model.parameters() if one.dim() > 1], "weight_decay": 0.01}
        bare = {"params": [one for one in model.parameters() if one.dim() < 2], "weight_decay": 0.0}
        groups = [bare, plain] if without_decay_first else [plain, bare]
        self.optimizer = torch.optim.RMSprop(groups, lr=1e-3)

    def resume(self, saved):
        self.model.load_state_dict(saved[0])
        self.optimizer.load_state_dict(saved[1])

    def train(self, batches):
        for x, y in batches:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(x), y).backward()
            self.optimizer.step()


batches = [(torch.randn(4, 5), torch.randn(4, 2)) for _ in range(3)]
first = Trainer(Encoder(), without_decay_first=False)
first.train(batches)
saved = copy.deepcopy((first.model.state_dict(), first.optimizer.state_dict()))
second = Trainer(Encoder(), without_decay_first=False)
second.resume(saved)
second.train(batches)
