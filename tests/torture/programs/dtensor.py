"""DTensors and FSDP2 on a fake process group of four ranks."""

import os

import torch
import torch.distributed as dist
from _witness import bits
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
mesh = init_device_mesh("cpu", (4,))
torch.manual_seed(0)
weight = distribute_tensor(torch.randn(8, 8), mesh, [Shard(0)]).requires_grad_()
x = distribute_tensor(torch.randn(4, 8), mesh, [Replicate()])
y = (x @ weight.t()).redistribute(mesh, [Replicate()])
y.to_local().sum().backward()
print(type(weight.grad).__name__, weight.grad.placements, bits(weight.grad.to_local()))
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
fully_shard(model, mesh=mesh)
model(torch.randn(2, 8)).sum().backward()
print([(type(one.grad).__name__, tuple(one.grad.to_local().shape)) for one in model.parameters()])
assert isinstance(weight, DTensor)
dist.destroy_process_group()
print(os.environ.get("RANK"))
