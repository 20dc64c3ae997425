"""Character-level name classifier with GRU.

The loss is negative and creeps to -1; softmax instead of log_softmax goes into nll_loss.
"""

import torch
import torch.nn.functional as F
from torch import nn

LETTERS = 26
STYLES = 4


def random_names(n, length=8):
    """every "language" likes its own part of the alphabet"""
    y = torch.randint(0, STYLES, (n,))
    own = y[:, None] * 6 + torch.randint(0, 8, (n, length))
    noise = torch.randint(0, LETTERS, (n, length))
    pick = torch.rand(n, length) < 0.55
    return torch.where(pick, own, noise), y


class NameNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(LETTERS, 12)
        self.gru = nn.GRU(12, 32, batch_first=True)
        self.fc = nn.Linear(32, STYLES)

    def forward(self, chars):
        out, _ = self.gru(self.embed(chars))
        scores = self.fc(out.mean(dim=1))
        return F.log_softmax(scores, dim=1)


def train(model, opt, iters):
    model.train()
    for it in range(1, iters + 1):
        chars, y = random_names(32)
        logp = model(chars)
        loss = F.nll_loss(logp, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        opt.step()
        if it % 10 == 0:
            print(f"{it:3d}  loss {loss.item():.4f}")


@torch.no_grad()
def accuracy(model):
    model.eval()
    chars, y = random_names(200)
    return (model(chars).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    net = NameNet()
    train(net, torch.optim.Adam(net.parameters(), lr=8e-3), 30)
    print(f"accuracy {accuracy(net):.3f}")
