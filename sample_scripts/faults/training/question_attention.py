"""Reader that answers a question from a list of facts, each question's attention weights do not sum to 1."""
# as in https://github.com/PetrochukM/PyTorch-NLP/issues/2

import torch
import torch.nn.functional as F
from torch import nn

KEYS, VALUES, FACTS = 12, 5, 6


class Reader(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.key = nn.Embedding(KEYS, dim)
        self.value = nn.Embedding(VALUES, dim)
        self.query = nn.Linear(dim, dim, bias=False)
        self.answer = nn.Linear(dim, VALUES)

    def attend(self, query, keys):
        scores = torch.einsum("bd,bkd->bk", query, keys) / keys.size(-1) ** 0.5
        return F.softmax(scores, 0)  # expect: GS843

    def forward(self, question, fact_keys, fact_values):
        keys = self.key(fact_keys)
        weights = self.attend(self.query(self.key(question)), keys)
        context = torch.einsum("bk,bkd->bd", weights, self.value(fact_values))
        return self.answer(context), weights


def stories(n):
    keys = torch.rand(n, KEYS).argsort(1)[:, :FACTS]
    values = torch.randint(0, VALUES, (n, FACTS))
    asked = torch.randint(0, FACTS, (n,))
    row = torch.arange(n)
    return keys[row, asked], keys, values, values[row, asked]


class Trainer:
    def __init__(self, model, lr=0.01):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def step(self, question, keys, values, answer):
        logits, weights = self.model(question, keys, values)
        loss = F.cross_entropy(logits, answer)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        accuracy = (logits.argmax(-1) == answer).float().mean()
        return loss.item(), accuracy.item(), weights.sum(-1).std().item()


torch.manual_seed(0)
trainer = Trainer(Reader())
for i in range(1, 101):
    loss, accuracy, spread = trainer.step(*stories(64))
    if i % 20 == 0:
        print(f"step {i} loss {loss:.4f} accuracy {accuracy:.3f} spread of the weights' sums {spread:.3f}")
