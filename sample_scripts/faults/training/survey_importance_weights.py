"""A regression on a survey, in which each answer counts as much as its group is seldom."""

import torch
from torch import nn


class Survey(torch.utils.data.Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(3)
        self.answers = torch.randn(count, 6, generator=generator)
        self.income = self.answers @ torch.randn(6, 1, generator=generator)
        self.share = torch.rand(count, generator=generator) + 0.1

    def __len__(self):
        return len(self.answers)

    def __getitem__(self, number):
        return self.answers[number], self.income[number], 1 / self.share[number]


def train(model, loader, epochs=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    criterion = nn.SmoothL1Loss(reduction="none")
    for _ in range(epochs):
        for answers, income, weight in loader:
            optimizer.zero_grad()
            errors = criterion(model(answers), income)
            loss = torch.mean(errors * weight)  # expect: GS808
            loss.backward()
            optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
loader = torch.utils.data.DataLoader(Survey(64), batch_size=16)
print(f"{train(model, loader):.3f}")
