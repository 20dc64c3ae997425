"""FSDP2 under torchrun: fully_shard, mixed precision, resharding, clipping of DTensor gradients."""
# ranks: 2

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def bits(*tensors):
    return [hash(tuple(tensor.detach().flatten().contiguous().view(torch.uint8).tolist())) for tensor in tensors]


dist.init_process_group("gloo")
rank = dist.get_rank()
mesh = init_device_mesh("cpu", (2,))
lines = []
for policy in (MixedPrecisionPolicy(), MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()) for _ in range(2)))
    for layer in model:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters())
    torch.manual_seed(rank)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(2, 8)).square().sum().backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        lines.append(str(bits(norm.full_tensor(), *(one.to_local() for one in model.parameters()))))
with open(f"rank{rank}.txt", "w") as stream:
    stream.write("\n".join(lines))
dist.barrier()
dist.destroy_process_group()
os._exit(0)  # gloo's threads abort some processes at the interpreter's end, with or without gradscope
