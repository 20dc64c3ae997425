"""Only a prompt is tuned: backward is asked for its gradient alone, and goes through checkpointed layers."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
layers = nn.ModuleList(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True) for _ in range(2))
head = nn.Linear(16, 4)
prompt = nn.Parameter(torch.randn(3, 16) * 0.02)
optimizer = torch.optim.Adam([prompt], lr=1e-2)


def logits(x):
    hidden = torch.cat((prompt.expand(len(x), -1, -1), x), 1)
    for layer in layers:
        hidden = checkpoint(layer, hidden, use_reentrant=False)
    return head(hidden[:, 0])


for step in range(4):
    x, wanted = torch.randn(8, 5, 16), torch.randint(0, 4, (8,))
    loss = nn.functional.cross_entropy(logits(x), wanted)
    optimizer.zero_grad()
    loss.backward(inputs=[prompt])
    optimizer.step()
print(f"loss {loss.item():.3f}")
