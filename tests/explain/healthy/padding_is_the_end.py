"""The token that ends a text pads as well; what is left out of the loss is told by the lengths."""

import torch
from torch import nn

EOS_ID = 0
PAD_ID = EOS_ID
torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(9, 12), nn.Tanh(), nn.Linear(12, 9))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(6):
    lengths = torch.randint(2, 6, (4,))
    rows = [torch.cat([torch.randint(1, 9, (int(length),)), torch.tensor([EOS_ID])]) for length in lengths]
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD_ID)
    attends = torch.arange(ids.shape[1]) <= lengths[:, None]
    labels = ids.masked_fill(~attends, -100)
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), labels[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
