"""Session recommender with one table of items for input and scoring, where scoring ignores the pretrained vectors."""
# as in https://github.com/TransformerLensOrg/TransformerLens/issues/1725

import torch
import torch.nn.functional as F
from torch import nn

ITEMS, DIM = 30, 12


class SessionModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(ITEMS, DIM)
        self.mix = nn.Sequential(nn.Linear(DIM, DIM), nn.Tanh(), nn.Linear(DIM, DIM))
        self.score = nn.Linear(DIM, ITEMS)
        self.score.weight = self.items.weight

    def forward(self, session):
        return self.score(self.mix(self.items(session).mean(1)))


def pretrained_vectors(groups):
    centers = F.normalize(torch.randn(5, DIM), dim=1)
    return 1.5 * centers[groups] + 0.1 * torch.randn(ITEMS, DIM)


def sessions(groups, n):
    g = torch.randint(0, 5, (n, 1))
    weights = (groups == g).float()
    picks = torch.multinomial(weights, 4, replacement=True)
    return picks[:, :3], picks[:, 3]


class Recommender:
    def __init__(self, vectors, lr):
        self.model = SessionModel()
        self.model.load_state_dict({"items.weight": vectors}, strict=False)
        self.optimizer = torch.optim.Adagrad(self.model.parameters(), lr=lr)

    def fit(self, groups, steps):
        for step in range(1, steps + 1):
            session, nxt = sessions(groups, 64)
            loss = F.cross_entropy(self.model(session), nxt)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.4f}")


torch.manual_seed(0)
item_groups = torch.arange(ITEMS) % 5
Recommender(pretrained_vectors(item_groups), lr=0.05).fit(item_groups, 40)
