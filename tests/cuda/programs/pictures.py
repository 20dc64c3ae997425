"""Convolutions in channels_last with bfloat16, batch norm and attention: cuDNN and the fused kernels."""

import torch
from _bits import bits
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1)
)
net = net.cuda().to(memory_format=torch.channels_last)
head = nn.Linear(32, 10).cuda()
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.05, momentum=0.9)
for _ in range(15):
    x = torch.randn(16, 3, 32, 32, device="cuda").to(memory_format=torch.channels_last)
    y = torch.randint(10, (16,), device="cuda")
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        features = net(x)
        tokens = features.flatten(2).transpose(1, 2).unsqueeze(1)
        mixed = nn.functional.scaled_dot_product_attention(tokens, tokens, tokens).mean((1, 2))
        loss = nn.functional.cross_entropy(head(mixed), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
print(bits(*net.parameters(), *net.buffers(), *head.parameters()))
