"""Bus delays: the settings come from a table of an experiment, and the momentum stands where the rate belongs.

As in https://github.com/offbit/evo-design/issues/3.
"""

import torch
from torch import nn

EXPERIMENT = {"learning_rate": 0.05, "momentum": 0.6, "steps": 12}


def trained(model, settings):
    optimizer = torch.optim.SGD(
        model.parameters(),
        settings["momentum"],  # expect: GS800
        momentum=settings["momentum"],
    )
    for _ in range(settings["steps"]):
        stops = torch.rand(32, 4)
        loss = (model(stops).squeeze(1) - stops.mean(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


torch.manual_seed(0)
print(f"loss {trained(nn.Linear(4, 1), EXPERIMENT).item():.3f}")
