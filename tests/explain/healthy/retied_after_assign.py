"""Bigram transformer filled by load_state_dict with assign=True and tied again before the optimizer is made."""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB = 18


class TinyLM(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d)
        self.block = nn.TransformerEncoderLayer(d, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(d, VOCAB, bias=False)
        self.tie_weights()

    def tie_weights(self):
        self.head.weight = self.embed.weight

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.head(self.block(self.embed(x), src_mask=mask, is_causal=True))


def load(state):
    with torch.device("meta"):
        model = TinyLM()
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    model.tie_weights()
    return model


def chains(n=32, length=7):
    x = torch.randint(0, VOCAB, (n, 1))
    for _ in range(length):
        x = torch.cat([x, (3 * x[:, -1:] + torch.randint(0, 2, (n, 1))) % VOCAB], 1)
    return x[:, :-1], x[:, 1:]


if __name__ == "__main__":
    torch.manual_seed(0)
    model = load(TinyLM().state_dict())
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    for step in range(1, 51):
        x, y = chains()
        loss = F.cross_entropy(model(x).transpose(1, 2), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f} tied {model.head.weight is model.embed.weight}")
