"""A small model of speech first learns to hear as a large one does, then to speak; a table keeps what layers gave.

As in https://github.com/mmasana/FACIL/issues/37.
"""

import torch
from torch import nn

torch.manual_seed(2)
WIDE, NARROW, given = 24, 10, {}


def speaker(width):
    layers = {"ear": nn.Linear(7, width), "bend": nn.SiLU(), "mouth": nn.Linear(width, 3)}
    return nn.Sequential(*(nn.Sequential(layer) for layer in layers.values()))


def listen(name):
    def keep(module, inputs, result):
        given[name] = result

    return keep


def hear(small, large, widen, rounds=24):
    hooks = [model[0].register_forward_hook(listen(name)) for name, model in (("small", small), ("large", large))]
    optimizer = torch.optim.Adam([{"params": small[0].parameters()}, {"params": widen.parameters()}], 0.01)
    for _ in range(rounds):
        sound = torch.randn(12, 7)
        small(sound), large(sound)
        apart = nn.functional.smooth_l1_loss(widen(given["small"]), given["large"])
        optimizer.zero_grad()
        apart.backward()
        optimizer.step()
    for hook in hooks:
        hook.remove()
    return apart.item()


def speak(small, rounds=24):
    optimizer = torch.optim.SGD(small.parameters(), 0.05)
    for _ in range(rounds):
        sound = torch.randn(12, 7)
        loss = nn.functional.cross_entropy(small(sound), sound[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


small, large = speaker(NARROW), speaker(WIDE).requires_grad_(False)
print(f"{hear(small, large, nn.Linear(NARROW, WIDE)):.3f}")
print(f"{speak(small):.3f}")
