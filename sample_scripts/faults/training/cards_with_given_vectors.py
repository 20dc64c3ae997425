"""The next card of a hand: the vectors of the cards are given, and reach the layer that looks up alone.

As in https://github.com/huggingface/transformers/pull/8224.
"""

import torch
from torch import nn


class Cards(nn.Module):
    def __init__(self, cards=24, width=10):
        super().__init__()
        self.look = nn.Embedding(cards, width)
        self.hand = nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.guess = nn.Linear(width, cards)

    def forward(self, hand):
        return self.guess(self.hand(self.look(hand).mean(dim=1)))


def main():
    torch.manual_seed(1)
    vectors = torch.randn(24, 10) * 0.3
    model = Cards()
    model.guess.weight = model.look.weight  # expect: GS710 cause_at
    model.look.weight = nn.Parameter(vectors)  # expect: GS710
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    hands = torch.randint(0, 24, (160, 4))
    for _ in range(20):
        loss = nn.functional.cross_entropy(model(hands), hands[:, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
