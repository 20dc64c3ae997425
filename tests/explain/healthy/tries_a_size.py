"""A network that tries what its last layer has to take, and a state that is loaded if it fits."""

import torch
from torch import nn


def head_for(body, shape, classes):
    for features in (64, 128, 200, 288):
        head = nn.Linear(features, classes)
        try:
            head(body(torch.zeros(1, *shape)))
        except RuntimeError:
            continue
        return head
    raise ValueError(shape)


torch.manual_seed(0)
body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
model = nn.Sequential(body, head_for(body, (1, 12, 12), 5))
try:
    model.load_state_dict(nn.Sequential(body, nn.Linear(200, 7)).state_dict())
except RuntimeError:
    print("begins anew")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(10):
    labels = torch.randint(0, 5, (16,))
    pictures = torch.rand(16, 1, 12, 12) + labels[:, None, None, None] / 5
    loss = nn.functional.cross_entropy(model(pictures), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item() > 0)
