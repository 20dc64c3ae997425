"""A policy over tokens learns from examples first, and from rewards later.

As in https://github.com/huggingface/transformers/issues/3720.
"""

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(6, 16), nn.GRUCell(16, 16), nn.Linear(16, 6)

    def forward(self, ids):
        state = torch.zeros(len(ids), 16)
        logits = []
        for token in ids.unbind(1):
            state = self.cell(self.embed(token), state)
            logits.append(self.head(state))
        return torch.stack(logits, 1)

    @torch.no_grad()  # expect: GS723
    def sample(self, count, length):
        token, state = torch.zeros(count, dtype=torch.long), torch.zeros(count, 16)
        tokens, scores = [token], []
        for _ in range(length):
            state = self.cell(self.embed(token), state)
            logp = self.head(state).log_softmax(-1)
            token = torch.multinomial(logp.exp(), 1).squeeze(1)
            tokens.append(token)
            scores.append(logp.gather(1, token[:, None]).squeeze(1))
        return torch.stack(tokens, 1), torch.stack(scores, 1)


def imitate(policy, optimizer, steps):
    for _ in range(steps):
        start = torch.randint(0, 6, (32, 1))
        ids = (start + torch.arange(5)) % 6
        loss = nn.functional.cross_entropy(policy(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def reward(policy, optimizer, steps):
    for step in range(steps):
        ids, logp = policy.sample(32, 4)
        gain = (ids[:, 1:] == 3).float().mean(1)
        spread = -policy(ids[:, :-1]).log_softmax(-1).mean()
        loss = -((gain - gain.mean())[:, None] * logp).mean() + 0.01 * spread
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {gain.mean().item():.3f}")


def main():
    torch.manual_seed(0)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    imitate(policy, optimizer, 70)
    reward(policy, optimizer, 30)


main()
