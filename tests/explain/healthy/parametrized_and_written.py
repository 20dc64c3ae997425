"""Writes to parametrized weights that have an effect, or are meant for the values alone."""

import warnings

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils import spectral_norm as older_spectral_norm
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

warnings.simplefilter("ignore", FutureWarning)


class AsItIs(nn.Module):
    def forward(self, weight):
        return weight


class Turned(nn.Module):
    def forward(self, rows):
        return rows.T


class Doubled(nn.Module):
    def forward(self, weight):
        return weight * 2

    def right_inverse(self, weight):
        return weight / 2


class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 4))
        parametrize.register_parametrization(self, "rows", Turned())
        self.rows.fill_(0.1)  # the buffer's own memory

    def forward(self, x):
        return x @ self.rows


def shown(layer):
    values = layer.weight.detach()
    values.abs_()
    return values.numpy().max()


def build():
    before = nn.Linear(4, 4)
    nn.init.normal_(before.weight, 0.0, 0.1)
    length = weight_norm(nn.Linear(4, 4))
    with torch.no_grad():
        length.parametrizations.weight.original0.fill_(0.5)
        length.parametrizations.weight.original1.normal_(0.0, 0.1)
    same = nn.Linear(4, 4)
    parametrize.register_parametrization(same, "weight", AsItIs())
    nn.init.eye_(same.weight)
    scaled = nn.Linear(4, 4)
    parametrize.register_parametrization(scaled, "weight", Doubled())
    with torch.no_grad():
        scaled.weight = scaled.weight.clamp_(-0.2, 0.2)
    plain, other = nn.Linear(4, 4), nn.Linear(4, 4)
    parametrize.register_parametrization(other, "weight", Doubled())
    plain.weight.data = other.weight.view(4, 4)
    old = older_spectral_norm(nn.Linear(4, 4))
    nn.init.normal_(old.weight)  # until the first forward it is the parameter's memory
    return nn.Sequential(spectral_norm(before), length, same, scaled, plain, old, Shift())


if __name__ == "__main__":
    torch.manual_seed(0)
    net, spare = build(), Shift()  # the spare one is only told what it holds
    largest = shown(net[0])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(8):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        with parametrize.cached():
            if step == 0:
                with torch.no_grad():
                    net[1].weight.mul_(0.5)  # this step alone reads it
            loss = (net(x) - x).square().mean()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}, largest {largest:.3f}, {len(spare.state_dict())} tensors to send")
