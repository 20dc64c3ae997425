"""Two temperatures of a calibrated classifier, by a closure that measures without gradients."""

# as in https://github.com/NeuroDiffGym/neurodiffeq/issues/83
import torch
from torch import nn

torch.manual_seed(0)
scores, labels = 4 * torch.randn(60, 3), torch.randint(3, (60,))
warmth = nn.Parameter(torch.ones(1))
shift = nn.Parameter(torch.zeros(3))
search = torch.optim.LBFGS([warmth, shift], lr=0.2, max_iter=8)


def wrong():
    return nn.functional.cross_entropy(scores * warmth + shift, labels)


def measured():  # expect: GS749
    with torch.no_grad():
        return wrong()


for _ in range(4):
    search.zero_grad()
    wrong().backward()
    search.step(closure=measured)  # expect: GS749 called_at
print(wrong().item())
