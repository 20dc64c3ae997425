"""A small adversarial pair whose training clips the judge's gradients in both halves. As in https://github.com/google-deepmind/open_spiel/issues/827."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
maker = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
judge = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
optimizers = {
    "maker": torch.optim.Adam(maker.parameters(), lr=2e-3, betas=(0.5, 0.99)),
    "judge": torch.optim.Adam(judge.parameters(), lr=2e-3, betas=(0.5, 0.99)),
}


def improve(who, loss, clipped):
    for one in optimizers.values():
        one.zero_grad()
    loss.backward()
    if who == "judge":
        nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
    else:
        nn.utils.clip_grad_norm_(clipped, 1.0)  # expect: GS893
    optimizers[who].step()
    return loss.item()


for step in range(40):
    real = torch.randn(64, 2) * 0.3 + torch.tensor([1.0, -1.0])
    made = maker(torch.randn(64, 4))
    scores = judge(torch.cat([real, made.detach()])).squeeze(1)
    truth = torch.cat([torch.ones(64), torch.zeros(64)])
    judged = improve("judge", F.binary_cross_entropy_with_logits(scores, truth), ())
    fooled = F.binary_cross_entropy_with_logits(judge(made).squeeze(1), torch.ones(64))
    fooled = improve("maker", fooled, judge.parameters())
print(f"judge {judged:.3f} maker {fooled:.3f}")
