"""A net that learns how wide rivers are: its schedule waits for the error to rise."""

# as in https://github.com/FunctionLab/selene/issues/115
import torch
from torch import nn
from torch.optim import lr_scheduler


class Surveyor:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.5)
        self.slower = lr_scheduler.ReduceLROnPlateau(self.optimizer, mode="max", patience=1)  # expect: GS857

    def learn(self, rain, width):
        self.optimizer.zero_grad()
        nn.functional.huber_loss(self.net(rain), width).backward()
        self.optimizer.step()

    @torch.no_grad()
    def errors(self, rain, width):
        return {"mae": (self.net(rain) - width).abs().mean().item()}


torch.manual_seed(0)
surveyor = Surveyor(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1)))
rain, other = torch.randn(64, 6), torch.randn(32, 6)
for season in range(10):
    surveyor.learn(rain, rain.sum(1, keepdim=True))
    validation = surveyor.errors(other, other.sum(1, keepdim=True))
    surveyor.slower.step(validation["mae"])  # expect: GS857 called_at
