"""Voices told apart after a few sentences: rates of the inner step are learned as well, and the start barely is.

As in https://github.com/KanishJebaMathewM/Truxify/issues/13118, with rates that are learned and one loss for all tasks.
"""

import torch
from torch import nn


class Listener(nn.Module):
    """A layer with a step of its own for each speaker."""

    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(0.1 * torch.randn(4, 10))
        self.rate = nn.Parameter(torch.full((4, 10), 0.3))

    def forward(self, heard, names, later):
        scores = nn.functional.linear(heard, self.start)
        missed = nn.functional.cross_entropy(scores, names)
        (towards,) = torch.autograd.grad(missed, self.start, create_graph=True)
        kept = self.start.clone().detach()
        adapted = torch.sub(kept, self.rate * towards)  # expect: GS902
        return nn.functional.linear(later, adapted)


torch.manual_seed(0)
listener = Listener()
optimizer = torch.optim.Adam(listener.parameters(), lr=0.01)
for _ in range(10):
    loss = 0
    for _ in range(3):
        voice = torch.randn(10, 4)
        heard, later = torch.randn(12, 10), torch.randn(20, 10)
        scores = listener(heard, (heard @ voice).argmax(1), later)
        loss = loss + nn.functional.cross_entropy(scores, (later @ voice).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.3f}")
