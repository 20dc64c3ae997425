"""Reviews: the table of words is frozen after a while, and only what still learns has its gradients cleared.

As in https://discuss.pytorch.org/t/why-there-is-still-a-small-change-in-frozen-layer-parameters/153740.
"""

import torch
from torch import nn

WORDS = 60


class Reviews(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 16)
        self.score = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, tokens):
        return self.score(self.words(tokens).mean(1))


def learning(model):
    return [weight for weight in model.parameters() if weight.requires_grad]


def main():
    torch.manual_seed(0)
    model, kind = Reviews(), torch.randint(0, 2, (WORDS,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.05)
    for step in range(48):
        if step == 20:
            model.words.weight.requires_grad, model.words.weight.grad = False, None
        tokens = torch.randint(0, WORDS, (32, 9))
        for weight in learning(model):
            weight.grad = None
        loss = nn.functional.cross_entropy(model(tokens), kind[tokens].float().mean(1).round().long())
        loss.backward()
        optimizer.step()
        if step % 12 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
