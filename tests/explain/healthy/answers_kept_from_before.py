"""A model is held near the answers that it gave before it went on, which are of other weights by now."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.EmbeddingBag(20, 12), nn.Tanh(), nn.Linear(12, 3))
words = [torch.randint(20, (16, 5)) for _ in range(8)]
with torch.no_grad():
    answers = [model(some) for some in words]
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for some, before in zip(words, answers, strict=True):
    now = model(some)
    preferred = -F.logsigmoid(0.1 * (now - before)).mean()
    loss = F.cross_entropy(now, some[:, 0] % 3) + F.mse_loss(now, before) + preferred
    print(F.kl_div(before.log_softmax(-1), before.softmax(-1), reduction="batchmean").item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
