"""A judge learns from two losses, whose sum is kept until the next round, and a forger from its third.

The forger's leaves are first read before a backward that does not come to them, and the results of one round, which
still live in the next, hand their nodes on from round to round: no graph is old.
"""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    forger = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    judge = nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    of_forger = torch.optim.Adam(forger.parameters(), lr=2e-3)
    of_judge = torch.optim.Adam(judge.parameters(), lr=2e-3)
    criterion = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
    for number in range(40):
        judge.zero_grad()
        for_real = criterion(judge(1 + torch.randn(8, 3)), ones)
        for_real.backward()
        forged = forger(torch.randn(8, 4))
        for_forged = criterion(judge(forged.detach()), zeros)
        for_forged.backward()
        both = for_real + for_forged
        of_judge.step()
        forger.zero_grad()
        opinion = criterion(judge(forged), ones)
        opinion.backward()
        of_forger.step()
        if number % 10 == 9:
            print(f"{number + 1}: judge {both.item():.3f} forger {opinion.item():.3f}")


main()
