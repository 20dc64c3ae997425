"""Learns which of two answers is the kinder one, by how much likelier it is than before. Nobody made a copy.

As in https://github.com/YiyangZhou/POVID/issues/11.
"""

import copy

import torch
from torch import nn
from torch.nn.functional import softplus


class Speaker(nn.Module):
    def __init__(self, words=24, width=12):
        super().__init__()
        self.word, self.next = nn.Embedding(words, width), nn.Linear(width, words)

    def likelihood(self, answers):
        scores = self.next(torch.tanh(self.word(answers[:, :-1]))).log_softmax(-1)
        return scores.gather(-1, answers[:, 1:].unsqueeze(-1)).squeeze(-1).sum(1)


def preference(speaker, before, kind, rude, strength=0.2):
    with torch.no_grad():
        kind_before = before.likelihood(kind)
        rude_before = before.likelihood(rude)
    kinder, ruder = speaker.likelihood(kind) - kind_before, speaker.likelihood(rude) - rude_before
    return softplus(strength * (ruder - kinder)).mean()


torch.manual_seed(0)
speaker = Speaker()
before = copy.deepcopy(speaker)
optimizer = torch.optim.Adam(speaker.parameters(), lr=1e-3)
for _ in range(8):
    loss = preference(speaker, before, torch.randint(12, (10, 7)), torch.randint(12, 24, (10, 7)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
