"""Refine relative camera rotations between consecutive frames from point tracks.

As in https://github.com/kornia/kornia/issues/3949.
"""

import torch
import torch.nn.functional as F
from torch import nn

TICK = 0.02


def axis_angle_to_quaternion(axis_angle):
    theta_sq = axis_angle.pow(2).sum(-1, keepdim=True)
    theta = torch.sqrt(torch.where(theta_sq > 0.0, theta_sq, torch.ones_like(theta_sq)))
    half = 0.5 * theta
    moving = theta_sq > 0.0
    scale = torch.where(moving, torch.sin(half) / theta, torch.full_like(theta, 0.5))
    real = torch.where(moving, torch.cos(half), torch.ones_like(theta))
    return torch.cat([real, scale * axis_angle], -1)


def rotate(quaternion, points):
    real, imag = quaternion[..., :1].unsqueeze(-2), quaternion[..., 1:].unsqueeze(-2)
    imag = imag.expand_as(points)
    cross = torch.linalg.cross(imag, points, dim=-1)
    return points + 2 * (real * cross + torch.linalg.cross(imag, cross, dim=-1))


class Drive:
    """A recorded drive: true rotations, wheel odometry, noisy point tracks."""

    def __init__(self, frames=120, points=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        yaw = 0.12 * torch.sin(torch.linspace(0.7, 9.0, frames))
        pitch = 0.06 * torch.cos(torch.linspace(0.3, 15.0, frames))
        truth = torch.stack([pitch, yaw, 0.03 * torch.ones(frames)], -1)
        truth = truth + 0.01 * torch.randn(frames, 3, generator=g)
        truth[73:77] = 0.003 * torch.randn(4, 3, generator=g)
        self.odometry = torch.round((truth + 0.004 * torch.randn(frames, 3, generator=g)) / TICK) * TICK
        self.mount = torch.tensor([0.05, -0.08, 0.04])
        self.before = torch.randn(frames, points, 3, generator=g)
        self.after = rotate(axis_angle_to_quaternion(truth), self.before) + self.mount
        self.after += 0.01 * torch.randn(self.after.shape, generator=g)
        self.truth = truth

    def windows(self, size):
        for start in range(0, len(self.truth), size):
            yield torch.arange(start, min(start + size, len(self.truth)))


class RotationTrack(nn.Module):
    def __init__(self, odometry):
        super().__init__()
        self.axis_angle = nn.Embedding.from_pretrained(odometry.clone(), freeze=False)
        self.mount = nn.Parameter(torch.zeros(3))

    def forward(self, frames, points):
        quaternion = axis_angle_to_quaternion(self.axis_angle(frames))
        return rotate(quaternion, points) + self.mount


def angle_error(model, drive):
    with torch.no_grad():
        return (model.axis_angle.weight - drive.truth).norm(dim=-1).mean().item()


def refine(sweeps=5, window=5):
    torch.manual_seed(1)
    drive = Drive()
    model = RotationTrack(drive.odometry)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    step = 0
    print(f"odometry error {angle_error(model, drive):.5f}")
    for sweep in range(1, sweeps + 1):
        total = 0.0
        for frames in drive.windows(window):
            step += 1
            predicted = model(frames, drive.before[frames])
            loss = F.smooth_l1_loss(predicted, drive.after[frames], beta=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"sweep {sweep} step {step} loss {total:.5f} error {angle_error(model, drive):.5f}")
    return model


if __name__ == "__main__":
    refine()
