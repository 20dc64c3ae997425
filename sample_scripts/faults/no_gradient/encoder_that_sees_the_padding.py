"""A text classifier hands its encoder the mask of the tokens where that of the padding is wanted. As in https://github.com/pytorch/pytorch/pull/39321."""

import torch
from torch import nn

PADDING = 0


class Classifier(nn.Module):
    def __init__(self, words=30, width=16):
        super().__init__()
        self.embed = nn.Embedding(words, width, padding_idx=PADDING)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, 2)

    def forward(self, tokens):
        mask = tokens != PADDING  # expect: GS759
        hidden = self.encoder(self.embed(tokens), src_key_padding_mask=mask)
        return self.out(hidden.mean(1))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(25):
        tokens = torch.randint(1, 30, (32, 10))
        tokens[torch.arange(10)[None] >= torch.randint(4, 10, (32, 1))] = PADDING
        loss = nn.functional.cross_entropy(model(tokens), (tokens[:, 0] > 15).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
