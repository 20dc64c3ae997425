"""Small one-box detector whose weights grow although their penalty is computed and logged in each step."""
# as in https://github.com/endernewton/tf-faster-rcnn/issues/217

import torch
import torch.nn.functional as F
from torch import nn


class Detector(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU()
        )
        self.cls = nn.Linear(16 * 16, classes)
        self.box = nn.Linear(16 * 16, 4)
        self.obj = nn.Linear(16 * 16, 1)

    def forward(self, x):
        h = self.backbone(x).flatten(1)
        return self.cls(h), self.box(h), self.obj(h).squeeze(1)


def scenes(n):
    x = 0.1 * torch.randn(n, 1, 16, 16)
    cls = torch.randint(0, 3, (n,))
    present = (torch.rand(n) < 0.7).float()
    corner = torch.randint(0, 10, (n, 2))
    for i in range(n):
        if present[i]:
            size = 3 + int(cls[i])
            top, left = corner[i].tolist()
            x[i, 0, top : top + size, left : left + size] = 1.0
    box = torch.cat([corner, corner + 3 + cls[:, None]], 1) / 16
    return x, cls, box, present


def weight_penalty(model):
    return 1e-2 * sum(p.pow(2).sum() for name, p in model.named_parameters() if name.endswith("weight"))


def compute_loss(model, x, cls, box, present):
    cls_out, box_out, obj_out = model(x)
    on = present.bool()
    loss_cls = F.cross_entropy(cls_out[on], cls[on])
    loss_box = F.smooth_l1_loss(box_out[on], box[on])
    loss_obj = F.binary_cross_entropy_with_logits(obj_out, present)
    loss_reg = weight_penalty(model)
    total = loss_cls + loss_box + loss_obj + loss_reg
    parts = {"cls": loss_cls, "box": loss_box, "obj": loss_obj, "reg": loss_reg}
    return total, {k: v.item() for k, v in parts.items()}


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Detector()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(1, 41):
        total, parts = compute_loss(model, *scenes(32))
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, " ".join(f"{k} {v:.4f}" for k, v in parts.items()))
