"""A scene grows by points: the parameters are replaced, and get what Adam kept for the fewer ones before."""

# as in https://github.com/nerfstudio-project/gsplat/pull/618
import torch
from torch import nn


class Scene(nn.Module):
    def __init__(self, points):
        super().__init__()
        self.means, self.colors = nn.Parameter(torch.rand(points, 2)), nn.Parameter(torch.zeros(points, 3))

    def forward(self, at):
        near = torch.softmax(-10 * torch.cdist(at, self.means), dim=1)
        return near @ torch.sigmoid(self.colors)


def grow(scene, optimizer, more):
    for group in optimizer.param_groups:
        name, (old,) = group["name"], group["params"]
        added = old.detach()[:more] + 0.01 * torch.randn_like(old[:more])
        new = nn.Parameter(torch.cat([old.detach(), added]))
        state = optimizer.state.pop(old)
        kept = {key: torch.cat([one, torch.zeros_like(one[:more])]) if one.dim() else one for key, one in state.items()}
        optimizer.state[new] = kept
        group["params"] = [new]
        setattr(scene, name, new)


torch.manual_seed(0)
scene = Scene(12)
groups = [{"params": [one], "name": name} for name, one in scene.named_parameters()]
optimizer = torch.optim.Adam(groups, lr=0.01)
at = torch.rand(40, 2)
for step in range(8):
    loss = nn.functional.mse_loss(scene(at), at[:, :1].expand(-1, 3))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 4:
        grow(scene, optimizer, 4)
