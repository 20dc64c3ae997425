"""SimSiam: cosines of a module of torch's, which clamps the norms for itself, with one side detached."""

import torch
from torch import nn

torch.manual_seed(0)
centres = torch.randn(4, 12) * 1.5
x = centres[torch.randint(0, 4, (128,))] + 0.6 * torch.randn(128, 12)
encoder = nn.Sequential(nn.Linear(12, 48, bias=False), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 24))
predictor = nn.Sequential(nn.Linear(24, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 24))
optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], 0.05, momentum=0.9)
cosine = nn.CosineSimilarity(dim=1)


def view(of):
    return nn.functional.dropout(of, 0.1) + 0.2 * torch.randn_like(of)


for _ in range(3):
    for index in torch.randperm(128).split(32):
        one, other = encoder(view(x[index])), encoder(view(x[index]))
        loss = -(cosine(predictor(one), other.detach()).mean() + cosine(predictor(other), one.detach()).mean()) * 0.5
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
