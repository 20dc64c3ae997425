"""Forces are derivatives of an energy with attention in it, and are trained themselves."""

# as in https://github.com/pytorch/pytorch/issues/116348
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend

KERNEL = SDPBackend.MATH


class Energy(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.embed, self.qkv, self.out = nn.Linear(3, width), nn.Linear(width, 3 * width), nn.Linear(width, 1)

    def forward(self, positions):
        q, k, v = self.qkv(torch.tanh(self.embed(positions))).chunk(3, -1)
        mixed = F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])  # expect: GS819
        return self.out(mixed[:, 0]).sum((1, 2))


torch.manual_seed(0)
model = Energy()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(3):
    positions = torch.randn(4, 5, 3, requires_grad=True)
    energy = model(positions)
    (slope,) = torch.autograd.grad(energy.sum(), positions, create_graph=True)
    loss = energy.square().mean() + (slope + positions).square().mean()
    optimizer.zero_grad()
    loss.backward()  # expect: GS819 second_backward_at
    optimizer.step()
