"""A detector's trainer freezes its backbone, and thaws it after some steps by a method of the model."""

import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU()
        )
        self.boxes = nn.Linear(6, 4)

    def forward(self, image):
        return self.boxes(self.backbone(image).mean((2, 3)))

    def freeze(self):
        for parameter in self.backbone.parameters():
            parameter.requires_grad = False

    def unfreeze_backbone(self):
        for parameter in self.backbone.parameters():
            parameter.requires_grad = True


class Trainer:
    def __init__(self, model, warmup):
        self.model, self.warmup = model, warmup
        model.freeze()
        self.optimizer = torch.optim.SGD(filter(lambda one: one.requires_grad, model.parameters()), 0.05, momentum=0.9)

    def step(self, number, image, box):
        if number == self.warmup:
            self.model.unfreeze_backbone()  # expect: GS815
        loss = nn.functional.smooth_l1_loss(self.model(image), box)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer(Detector(), 12)
for number in range(40):
    loss = trainer.step(number, torch.randn(4, 1, 8, 8), torch.rand(4, 4))
print(f"{loss:.3f}")
