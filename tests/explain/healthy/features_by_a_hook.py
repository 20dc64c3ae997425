"""A backbone is run for the features that a hook takes: its classifier computes what nobody wants."""

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.classifier = nn.Linear(12, 10)

    def forward(self, x):
        return self.classifier(self.body(x))


class Features(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone, self.taken = backbone, None
        backbone.body.register_forward_hook(self.take)

    def take(self, module, inputs, output):
        self.taken = output

    def forward(self, x):
        self.backbone(x)
        taken, self.taken = self.taken, None
        return taken


torch.manual_seed(0)
model = nn.Sequential(Features(Backbone()), nn.Linear(12, 2))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(8):
    optimizer.zero_grad()
    model(torch.randn(5, 6)).square().mean().backward()
    optimizer.step()
