"""The learning rate of a classifier is lowered for as long as its accuracy rises."""

# as in https://github.com/md-mohaiminul/ViS4mer/issues/4
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau


def blobs(count):
    label = torch.randint(0, 3, (count,))
    return torch.randn(count, 4) + 2 * nn.functional.one_hot(label, 4).float(), label


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scheduler = ReduceLROnPlateau(optimizer, patience=1, factor=0.2)  # expect: GS857
x_valid, y_valid = blobs(60)
for epoch in range(8):
    x, y = blobs(60)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        val_acc = (model(x_valid).argmax(1) == y_valid).float().mean().item()
    scheduler.step(val_acc)  # expect: GS857 called_at
    print(epoch, val_acc, optimizer.param_groups[0]["lr"])
