"""The twin of trainer_wakes_backbone_norms.py: the norms are put to rest in each epoch."""

import torch
from torch import nn

NORMS = (nn.BatchNorm2d, nn.SyncBatchNorm)


class Trainer:
    def __init__(self, net, lr):
        self.net = net
        self.optimizer = torch.optim.AdamW(net.parameters(), lr)
        self.rest()
        for module in net.backbone.modules():
            if isinstance(module, NORMS):
                module.weight.requires_grad = module.bias.requires_grad = False

    def rest(self):
        for module in self.net.backbone.modules():
            if isinstance(module, NORMS):
                module.eval()

    def step(self, image, mask):
        loss = nn.functional.binary_cross_entropy_with_logits(self.net(image), mask)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def epoch(self, pairs):
        self.net.train()
        self.rest()
        return sum(self.step(*pair) for pair in pairs) / len(pairs)


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        first = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()
        second = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()
        self.backbone = nn.Sequential(*first, *second)
        self.out = nn.Conv2d(4, 1, 1)

    def forward(self, image):
        return self.out(self.backbone(image))


torch.manual_seed(0)
trainer = Trainer(Segmenter(), 1e-2)
images = torch.randn(6, 4, 1, 8, 8)
for _ in range(3):
    print(f"{trainer.epoch([(image, (image > 0).float()) for image in images]):.3f}")
