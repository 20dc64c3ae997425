"""The script's own dispatch modes and function modes see what they would."""

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

seen = []


class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        seen.append(str(operator))
        return operator(*arguments, **(keywords or {}))


class Function(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), keywords=None):
        seen.append(getattr(function, "__name__", str(function)))
        return function(*arguments, **(keywords or {}))


model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
x = torch.ones(1, 2, requires_grad=True)
for mode in (Dispatch(), Function()):
    seen.clear()
    with mode:
        y = model(x)
        y.register_hook(lambda gradient: gradient * 2)
        y.retain_grad()
        y.sum().backward()
        torch.autograd.grad(model(x).sum(), x, create_graph=True)
    print(type(mode).__name__, seen)
with FlopCounterMode(display=False) as flops:
    model(x).sum().backward()
print(flops.get_total_flops())
seen.clear()
with Dispatch(), Function(), Dispatch():
    torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False).sum().backward()
print(seen)
with torch._C.DisableTorchFunction():
    model(x).sum().backward()
with torch.utils._device.DeviceContext(torch.device("cpu")):
    print(torch.ones(2).device)


class Raises(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        raise KeyError(str(operator))


for _ in range(2):
    try:
        with Raises():
            model(x)
    except KeyError as error:
        print(error)
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

with FakeTensorMode() as fake:
    print(model(fake.from_tensor(x)) if False else torch.nn.functional.relu(fake.from_tensor(torch.ones(2, 2))).shape)
print(make_fx(lambda x: torch.autograd.grad(x.sin().sum(), x)[0])(x).code)
