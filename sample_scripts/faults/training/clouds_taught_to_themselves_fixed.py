"""A small net that tells clouds apart is to learn of a large one, which is compared with its own answers.

As in https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/66.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Apprentice:
    def __init__(self, master, net, warmth=3.0):
        self.master, self.net, self.warmth = master.eval(), net, warmth
        self.optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step(self, clouds, names):
        with torch.no_grad():
            known = self.master(clouds)
        told = self.net(clouds)
        log_guess = F.log_softmax(told / self.warmth, dim=1)
        wanted = F.softmax(known / self.warmth, dim=1)
        lesson = F.kl_div(log_guess, wanted, reduction="batchmean") * self.warmth**2
        loss = 0.8 * lesson + 0.2 * F.cross_entropy(told, names)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
large = nn.Sequential(nn.Linear(9, 48), nn.ReLU(), nn.Linear(48, 5))
small = nn.Sequential(nn.Linear(9, 8), nn.ReLU(), nn.Linear(8, 5))
apprentice = Apprentice(large, small)
for _ in range(10):
    clouds = torch.randn(20, 9)
    print(f"{apprentice.step(clouds, clouds[:, :5].argmax(1)):.3f}")
