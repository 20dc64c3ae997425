"""A class that sets up training by hooks clips values behind the step. As in https://github.com/VGraphRNN/VGRNN/issues/4."""

import torch
from torch import nn


class Tides:
    """The height of water at a harbour, from the phases of three bodies."""

    def __init__(self, seed):
        self.random = torch.Generator().manual_seed(seed)

    def __iter__(self):
        for _ in range(30):
            phases = torch.rand(24, 3, generator=self.random) * 6.28
            yield phases, (phases.sin() * torch.tensor([2.0, 1.0, 0.3])).sum(1, keepdim=True)


class Setup:
    def __init__(self, model, bound):
        self.model, self.bound = model, bound
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        self.optimizer.register_step_post_hook(self.keep_small)  # expect: GS820
        self.optimizer.register_step_post_hook(lambda optimizer, *_: optimizer.zero_grad())

    def keep_small(self, optimizer, given, named):
        for group in optimizer.param_groups:
            nn.utils.clip_grad_value_(group["params"], self.bound)  # expect: GS820 declared_at


def train():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
    setup = Setup(model, bound=0.2)
    for phases, height in Tides(3):
        nn.functional.huber_loss(model(phases), height).backward()
        setup.optimizer.step()


if __name__ == "__main__":
    train()
