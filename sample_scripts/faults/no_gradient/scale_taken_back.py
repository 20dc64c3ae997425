"""Recipes are matched with photographs; the scale of their similarity is set back, to a new tensor, after a warm-up.

As in https://github.com/DLR-RM/stable-baselines3/issues/391.
"""

import torch
from torch import nn


class Matcher:
    def __init__(self):
        self.recipes, self.photographs = nn.Linear(6, 8), nn.Linear(4, 8)
        self.scale = torch.tensor(2.0, requires_grad=True)
        towers = [*self.recipes.parameters(), *self.photographs.parameters()]
        self.optimizers = [torch.optim.Adam(towers, lr=0.01), torch.optim.SGD([self.scale], lr=0.05)]

    def set_back(self, scale):
        self.scale = torch.tensor(scale, requires_grad=True)  # expect: GS727

    def fit(self, recipes, photographs):
        ours, theirs = (nn.functional.normalize(one, dim=1) for one in self.embed(recipes, photographs))
        loss = nn.functional.cross_entropy(self.scale * ours @ theirs.T, torch.arange(len(ours)))
        for one in self.optimizers:
            one.zero_grad()
        loss.backward()
        for one in self.optimizers:
            one.step()
        return loss.item()

    def embed(self, recipes, photographs):
        return self.recipes(recipes), self.photographs(photographs)


torch.manual_seed(0)
matcher = Matcher()
for step in range(40):
    recipes = torch.randn(16, 6)
    loss = matcher.fit(recipes, recipes[:, :4] + 0.1 * torch.randn(16, 4))
    if step == 11:
        matcher.set_back(2.0)
    if step % 8 == 7:
        print(f"{step}: {loss:.3f}")
