"""Features that shall not tell two microphones apart: a hook turns the gradient round.

As in https://github.com/pytorch/pytorch/issues/117925.
"""

import torch
from torch import nn


def turn_round(module, gradients, outputs):
    return (-0.5 * gradients[0],)


class Speech(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, width), nn.ReLU())
        self.words = nn.Linear(width, 3)
        self.microphone = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 2))
        self.microphone.register_full_backward_hook(turn_round)

    def forward(self, sound):
        features = self.features(sound)
        return self.words(features), self.microphone(features)


def main(steps=30):
    torch.manual_seed(0)
    net = Speech()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(steps):
        sound, word, microphone = torch.randn(32, 6), torch.randint(0, 3, (32,)), torch.randint(0, 2, (32,))
        words, microphones = net(sound + microphone[:, None])
        loss = nn.functional.cross_entropy(words, word) + nn.functional.cross_entropy(microphones, microphone)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:2d} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
