"""Saliency maps for the input and a feature map, with gradient clipping hooked onto the features."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Conv1d(1, 2, 3), nn.Linear(12, 3)

    def forward(self, x):
        self.map = torch.tanh(self.features(x))
        self.map.register_hook(lambda gradient: gradient.clamp(-0.01, 0.01))
        return self.head(self.map.flatten(1))


torch.manual_seed(0)
model = Classifier()
image = torch.randn(1, 1, 8, requires_grad=True)
score = model(image)[0, 1]
(of_map,) = torch.autograd.grad(score, model.map, retain_graph=True)
(of_image,) = torch.autograd.grad(score, image)
print(of_image.shape, of_map.abs().max() < 1)
