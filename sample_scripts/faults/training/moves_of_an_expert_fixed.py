"""Copies an expert's moves; what the loss needs is a method of the player.

As in https://github.com/11-626/Deep-INFOMAX/issues/1.
"""

import torch
from torch import nn
from torch.distributions import Categorical


class Player(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))

    def likelihood(self, boards, moves):
        return Categorical(logits=self.net(boards)).log_prob(moves)


def copy_expert(player, boards, moves, passes):
    optimizer = torch.optim.Adam(player.parameters(), lr=3e-3)
    for _ in range(passes):
        for rows in torch.randperm(len(boards)).split(50):
            loss = -player.likelihood(boards[rows], moves[rows]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


torch.manual_seed(1)
boards = torch.randn(200, 6)
print(f"{copy_expert(Player(), boards, boards[:, :4].argmax(1), 5):.3f}")
