"""Two views of unlabelled points that should agree on a cluster, and end in as many as there were at the start."""
# as in https://github.com/DonkeyShot21/UNO/issues/4

import torch
from torch import nn
from torch.nn import functional as F


class Heads(nn.Module):
    def __init__(self, width=16, clusters=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, width), nn.ReLU())
        self.prototypes = nn.Linear(width, clusters, bias=False)

    def forward(self, views):
        return torch.stack([self.prototypes(self.body(view)) for view in views])


@torch.no_grad()
def assigned(logits, rounds=3):
    share = (logits / 0.2).softmax(-1)
    for _ in range(rounds):
        share = share / share.sum(1, keepdim=True)
        share = share / share.sum(2, keepdim=True)
    return share


def swapped(logits, temperature=0.3):
    targets = assigned(logits).flip(0)
    chances = F.log_softmax(logits / temperature, dim=1)  # expect: GS843
    return -(targets * chances).sum(dim=-1).mean()


def main():
    torch.manual_seed(3)
    centres = torch.randn(6, 2) * 3
    model = Heads()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(40):
        points = centres[torch.randint(0, 6, (48,))]
        views = [points + 0.2 * torch.randn_like(points) for _ in range(2)]
        loss = swapped(model(views))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
