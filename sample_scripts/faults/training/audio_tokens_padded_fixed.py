"""Audio tokens of several lengths are padded with an id of its own, which their embedding has no row for."""

# as in https://github.com/lucidrains/audiolm-pytorch/issues/18
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence


class Semantic(nn.Module):
    def __init__(self, tokens, width=8):
        super().__init__()
        self.pad = tokens
        self.tokens = nn.Embedding(tokens + 1, width)
        self.body = nn.GRU(width, width, batch_first=True)
        self.logits = nn.Linear(width, tokens)

    def forward(self, sequences):
        ids = pad_sequence(sequences, batch_first=True, padding_value=self.pad)
        states, _ = self.body(self.tokens(ids))
        return self.logits(states)[:, -1]


torch.manual_seed(0)
model = Semantic(12)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for lengths in ((5, 5), (6, 6), (6, 4)):
    heard = [torch.randint(0, 12, (length,)) for length in lengths]
    loss = nn.functional.cross_entropy(model(heard), torch.tensor([1, 2]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
