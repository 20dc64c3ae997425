"""Losses, gradients, weights and the state of the random generators."""

import random

import torch
from _witness import bits

torch.manual_seed(0)
random.seed(0)
layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 2)
optimizer = torch.optim.AdamW(model.parameters())
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
for _ in range(3):
    loss = model(torch.randn(4, 8, 16)).square().mean() + torch.nn.functional.dropout(torch.randn(3)).sum()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(loss.item().hex(), bits(*model.parameters(), *(one.grad for one in model.parameters())))
model.eval()
with torch.no_grad():
    print(bits(model(torch.ones(1, 2, 16))))
rnn = torch.nn.LSTM(3, 4, 2, dropout=0.5)
output, _ = rnn(torch.randn(5, 2, 3))
output.sum().backward()
print(bits(*(one.grad for one in rnn.parameters())))
print(
    bits(torch.get_rng_state()), random.random(), sum(parameter.grad.data_ptr() != 0 for parameter in rnn.parameters())
)
