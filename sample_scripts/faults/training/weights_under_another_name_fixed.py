"""A builder of pretrained models whose network stands one level deeper than in the checkpoint."""

# as in https://github.com/torchgeo/torchgeo/issues/4036
import torch
from torch import nn


class Earth(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.ModuleDict({"encoder": nn.Linear(5, 8), "decoder": nn.Linear(8, 5)})

    def forward(self, x):
        return self.model["decoder"](torch.relu(self.model["encoder"](x)))


def published():
    layers = nn.ModuleDict({"encoder": nn.Linear(5, 8), "decoder": nn.Linear(8, 5)})
    return {name: tensor.detach().clone() for name, tensor in layers.named_parameters()}


def earth(weights):
    built = Earth()
    built.model.load_state_dict(weights, strict=False)
    return built


torch.manual_seed(0)
network = earth(published())
optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
for _ in range(4):
    x = torch.randn(8, 5)
    loss = nn.functional.mse_loss(network(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
