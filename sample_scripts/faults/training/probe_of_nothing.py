"""A linear probe of features that were pretrained in a wrapper, whose prefix nobody takes away."""

# as in https://github.com/facebookresearch/moco-v3/issues/30
import torch
from torch import nn


def backbone():
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))


torch.manual_seed(0)
pretrained = {f"module.{name}": tensor.clone() for name, tensor in backbone().state_dict().items()}
features, head = backbone(), nn.Linear(8, 3)
features.load_state_dict(pretrained, strict=False)  # expect: GS836
features.requires_grad_(False)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for _ in range(5):
    loss = nn.functional.cross_entropy(head(features(torch.randn(8, 6))), torch.randint(0, 3, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
