"""Features that say nothing about the site: the head that guesses it sends its gradient back reversed.

As in https://github.com/pytorch/pytorch/issues/87540.
"""

import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")


class SiteHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 1)

    def forward(self, features):
        logit = self.net(features).squeeze(-1)
        return logit, logit.sigmoid()


def reverse(module, grad_input, grad_output):
    return tuple(None if one is None else -0.5 * one for one in grad_input)


def main():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
    classes, site = nn.Linear(8, 3), SiteHead()
    site.register_full_backward_hook(reverse)
    optimizer = torch.optim.Adam([*encoder.parameters(), *classes.parameters(), *site.parameters()], lr=0.01)
    for step in range(20):
        x, where = torch.randn(32, 6), torch.randint(0, 2, (32,)).float()
        features = encoder(x + where[:, None])
        loss = nn.functional.cross_entropy(classes(features), x[:, :3].argmax(1))
        loss = loss + nn.functional.binary_cross_entropy_with_logits(site(features)[0], where)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
