"""The weights are averaged by name, and the average is written into the model before each validation.

As in https://github.com/huggingface/diffusers/issues/2321.
"""

import torch
from torch import nn


class Average:
    def __init__(self, model, decay):
        self.decay = decay
        self.values = {name: p.detach().clone() for name, p in model.named_parameters()}

    def update(self, model):
        for name, p in model.named_parameters():
            self.values[name] = self.decay * self.values[name] + (1 - self.decay) * p.detach()

    @torch.no_grad()
    def write_to(self, model):
        for name, p in model.named_parameters():
            p.copy_(self.values[name])


def validate(model, x, y):
    with torch.no_grad():
        return nn.functional.cross_entropy(model(x), y).item()


def train_epoch(model, average, optimizer, x, y):
    for rows in torch.randperm(len(x)).split(16):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
    return loss.item()


def main():
    torch.manual_seed(0)
    x = torch.randn(160, 5)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 2))
    average, optimizer = Average(model, 0.95), torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(4):
        loss = train_epoch(model, average, optimizer, x[:128], y[:128])
        live = {name: value.clone() for name, value in model.state_dict().items()}
        average.write_to(model)
        print(f"{epoch}: {loss:.4f} {validate(model, x[128:], y[128:]):.4f}")
        model.load_state_dict(live)


main()
