"""A maker of spectra learns from a reference and from a judge; one helper asks the judge for both steps.

As in https://github.com/nikhilsinghmus/image2reverb/issues/37.
"""

import torch
from torch import nn
from torch.nn.functional import mse_loss


class Pair:
    def __init__(self):
        self.maker = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 12))
        self.judge = nn.Sequential(nn.Linear(12, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.makes = torch.optim.Adam(self.maker.parameters(), lr=2e-3)
        self.judges = torch.optim.Adam(self.judge.parameters(), lr=2e-3)

    def verdict(self, spectrum):
        return self.judge(spectrum.detach())  # expect: GS892

    def judge_step(self, seen, wanted):
        real, made = self.verdict(wanted), self.verdict(self.maker(seen))
        loss = mse_loss(real, torch.ones_like(real)) + mse_loss(made, torch.zeros_like(made))
        self.judges.zero_grad()
        loss.backward()
        self.judges.step()

    def maker_step(self, seen, wanted):
        made = self.maker(seen)
        verdict = self.verdict(made)
        loss = (made - wanted).abs().mean() + 0.5 * mse_loss(verdict, torch.ones_like(verdict))
        self.makes.zero_grad()
        loss.backward()  # expect: GS892 called_at
        self.makes.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    pair, mixing = Pair(), torch.randn(6, 12)
    for _ in range(20):
        seen = torch.randn(32, 6)
        wanted = (seen @ mixing).tanh()
        pair.judge_step(seen, wanted)
        loss = pair.maker_step(seen, wanted)
    print(f"loss {loss:.3f}")


main()
