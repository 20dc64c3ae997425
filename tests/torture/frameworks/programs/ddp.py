"""DistributedDataParallel under torchrun: buckets, no_sync, unused parameters, checkpointing, a hook."""
# ranks: 2

import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


def bits(*tensors):
    return [hash(tuple(tensor.detach().flatten().contiguous().view(torch.uint8).tolist())) for tensor in tensors]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.unused = (torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        return checkpoint(self.second, self.first(x).relu(), use_reentrant=False)


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(Net(), find_unused_parameters=True, bucket_cap_mb=1)
model.module.first.weight.register_hook(lambda gradient: gradient * 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(rank)
lines = []
for _ in range(3):
    optimizer.zero_grad()
    with model.no_sync():
        model(torch.randn(2, 4)).square().sum().backward()
    model(torch.randn(2, 4)).square().sum().backward()
    optimizer.step()
    lines.append(str(bits(*model.parameters())))
with open(f"rank{rank}.txt", "w") as stream:
    stream.write("\n".join(lines))
dist.barrier()
dist.destroy_process_group()
sys.stdout.flush()
os._exit(0)  # gloo's threads abort some processes at the interpreter's end, with or without gradscope
