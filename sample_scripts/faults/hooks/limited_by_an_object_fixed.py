"""An object limits the norm of each gradient of an embedding and a classifier."""

import torch
from torch import nn


class Limit:
    def __init__(self, largest):
        self.largest = largest

    def __call__(self, weight):
        g = weight.grad
        norm = g.norm()
        if norm > self.largest:
            g.copy_(g * (self.largest / norm))


torch.manual_seed(0)
words = nn.EmbeddingBag(20, 6)
classify = nn.Linear(6, 4)
limit = Limit(0.5)
for weight in (words.weight, classify.weight):
    weight.register_post_accumulate_grad_hook(limit)
optimizer = torch.optim.SGD([*words.parameters(), *classify.parameters()], lr=0.5, momentum=0.9)
for _ in range(5):
    loss = nn.functional.cross_entropy(classify(words(torch.randint(20, (8, 5)))), torch.randint(4, (8,)))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
