"""States that are loaded in part: a backbone without its head, a wrapper with its prefix, and a plateau of a loss."""

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau


def network(classes):
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, classes))


torch.manual_seed(0)
saved = {name: one for name, one in network(5).state_dict().items() if name.startswith("0.")}
model = network(3)
print(model.load_state_dict(saved, strict=False).missing_keys)
wrapped = nn.Sequential(model)
wrapped.load_state_dict({f"0.{name}": one.clone() for name, one in model.state_dict().items()}, strict=False)
nn.ReLU().load_state_dict({}, strict=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule, rises = ReduceLROnPlateau(optimizer, patience=0), ReduceLROnPlateau(optimizer, "max", patience=0)
for _ in range(6):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy_loss = loss.item()
    schedule.step(accuracy_loss)
    rises.step(1 - accuracy_loss)
