"""A replica whose inner model is evaluated by itself, and put back by the train() of the wrapper; another stays asleep.

`train()` of a wrapper switches all that is inside. A frozen teacher in a wrapper is in evaluation mode from the start.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
torch.manual_seed(0)
student = DistributedDataParallel(
    nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.Dropout(0.2), nn.Linear(12, 3))
)
teacher = nn.DataParallel(nn.Sequential(nn.Linear(6, 12), nn.Dropout(0.2), nn.Linear(12, 3)))
teacher.module.eval()
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(4):
    student.train()
    for _ in range(4):
        given = torch.randn(16, 6)
        with torch.no_grad():
            aim = teacher(given).softmax(1)
        optimizer.zero_grad()
        nn.functional.cross_entropy(student(given), aim).backward()
        optimizer.step()
    student.module.eval()
    with torch.no_grad():
        print(student.module(torch.randn(8, 6)).softmax(1).amax().item())
dist.destroy_process_group()
