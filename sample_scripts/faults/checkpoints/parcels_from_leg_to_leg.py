"""How long a parcel takes; each leg of the training hands its parts on to the next one.

As in https://github.com/r9y9/wavenet_vocoder/issues/132.
"""

import copy

import torch
from torch import nn


class Baton:
    """The parts that go from leg to leg."""

    def __init__(self, *parts):
        self.parts = parts

    def keep(self, epoch):
        return [copy.deepcopy(part.state_dict()) for part in self.parts], {"epoch": epoch}

    def put_back(self, states):
        for part, state in zip(self.parts, states, strict=True):
            part.load_state_dict(state)


def leg(routes, days, epochs, handed=None):
    encoder, head = nn.Linear(6, 16), nn.Linear(16, 1)
    learned = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(learned, 0.05, momentum=0.9)  # expect: GS870 declared_at
    baton, begin = Baton(encoder, head), 0
    if handed is not None:
        states, about = handed
        baton.put_back(states)  # expect: GS870
        begin = about["epoch"]
    for epoch in range(begin, begin + epochs):
        for at in range(0, len(routes), 24):
            guess = head(torch.tanh(encoder(routes[at : at + 24]))).squeeze(1)
            loss = nn.functional.smooth_l1_loss(guess, days[at : at + 24])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
    return baton.keep(begin + epochs)


torch.manual_seed(1)
routes = torch.randn(72, 6)
handed = leg(routes, routes[:, 0].abs() + 0.5 * routes[:, 3], 3)
leg(routes, routes[:, 0].abs() + 0.5 * routes[:, 3], 3, handed)
