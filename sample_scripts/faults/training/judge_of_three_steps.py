"""A judge of sketches takes three steps for each step of the hand that draws them, and clears once for all three."""

# as in https://github.com/ajbrock/BigGAN-PyTorch/issues/25
import torch
from torch import nn


class Sketches:
    def __init__(self):
        self.hand = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 12))
        self.judge = nn.Sequential(nn.Linear(12, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
        self.of_hand = torch.optim.RMSprop(self.hand.parameters(), lr=1e-3)
        self.of_judge = torch.optim.RMSprop(self.judge.parameters(), lr=1e-3)

    def judge_learns(self):
        self.of_judge.zero_grad()  # expect: GS801
        for _ in range(3):
            real, drawn = torch.randn(16, 12) + 1, self.hand(torch.randn(16, 6)).detach()
            loss = (1 - self.judge(real)).relu().mean() + (1 + self.judge(drawn)).relu().mean()
            loss.backward()  # expect: GS801 cause_at
            self.of_judge.step()  # expect: GS801 called_at

    def hand_learns(self):
        self.of_hand.zero_grad()
        self.judge.requires_grad_(False)
        (-self.judge(self.hand(torch.randn(16, 6)))).mean().backward()
        self.judge.requires_grad_(True)
        self.of_hand.step()


torch.manual_seed(0)
sketches = Sketches()
for page in range(6):
    sketches.judge_learns()
    sketches.hand_learns()
