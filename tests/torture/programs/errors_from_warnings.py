"""The tour of everything under `python -W error`."""
# python: -W error

import threading
import warnings

import torch
from torch.utils.checkpoint import checkpoint

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
model[0].register_full_backward_hook(lambda module, passed, received: None)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    optimizer.zero_grad()
    x = torch.ones(2, 4, requires_grad=True)
    y = checkpoint(model, x, use_reentrant=False).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    slope.square().sum().backward()
    model(x).sum().backward()
    optimizer.step()
thread = threading.Thread(target=lambda: model(torch.ones(1, 4)).sum().backward())
thread.start()
thread.join()
torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))(torch.ones(2, 3))
with torch.autograd.set_detect_anomaly(True, check_nan=False), warnings.catch_warnings():
    warnings.simplefilter("ignore")
    model(x).sum().backward()
y = torch.ones(2, requires_grad=True).exp()
y.add_(1)
try:
    y.sum().backward()
except RuntimeError as error:
    print(error)
try:
    warnings.warn("mine", stacklevel=1)
except UserWarning as error:
    print(error, warnings.filters[0][:3])
