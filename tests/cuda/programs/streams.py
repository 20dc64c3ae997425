"""Work on streams of its own: the backward runs each node on the stream of its forward, and waits where it must."""

import torch
from _bits import bits
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 256)).cuda()
head = nn.Linear(256, 1).cuda()
side, other = torch.cuda.Stream(), torch.cuda.Stream()
x = torch.randn(512, 256, device="cuda", requires_grad=True)
seen = []


def note(name):
    def hook(gradient):
        stream = torch.cuda.current_stream()
        seen.append((name, "side" if stream == side else "other" if stream == other else "default"))

    return hook


for _ in range(12):
    model.zero_grad()
    head.zero_grad()
    x.grad = None
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        hidden = model(x)
        hidden.register_hook(note("hidden"))
    other.wait_stream(side)
    with torch.cuda.stream(other):
        hidden.record_stream(other)
        loss = head(hidden.sin()).square().mean()
        loss.register_hook(note("loss"))
    torch.cuda.current_stream().wait_stream(other)
    loss.backward()
    with torch.no_grad():
        for each in (*model.parameters(), *head.parameters()):
            each.sub_(0.1 * each.grad)
torch.cuda.synchronize()
print(seen)
print(bits(x.grad, *model.parameters(), *head.parameters()))
