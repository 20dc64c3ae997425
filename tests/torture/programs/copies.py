"""deepcopy and pickle of modules, optimizers and graph outputs; state dicts; references to hooks."""

import copy
import io
import pickle

import torch
from _witness import bits

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))
        self.norm = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 3))
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        for layer in self.layers:
            x = layer(x).relu()
        return self.norm(x)


def hook(module, passed, received):
    return None


model = Net()
model.register_full_backward_hook(hook)
model.layers[0].weight.register_hook(torch.neg)
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
model(torch.ones(2, 3, requires_grad=True)).sum().backward()
optimizer.step()
again = copy.deepcopy(model)
model.zero_grad()
for one in (model, again, pickle.loads(pickle.dumps(model.layers)), torch.nn.Sequential(copy.copy(model))):
    x = torch.ones(2, 3, requires_grad=True)
    y = one[0](x) if isinstance(one, torch.nn.ModuleList) else one(x)
    y.sum().backward()
    print(type(one).__name__, bits(x.grad), sorted(vars(one)))
stream = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, stream)
stream.seek(0)
print(sorted(torch.load(stream)["model"]), len(stream.getvalue()))
stream = io.BytesIO()
torch.save(model, stream)
stream.seek(0)
print(type(torch.load(stream, weights_only=False)).__name__, len(pickle.dumps(model)))
print(vars(torch.nn.Linear).keys() - {"__annotations__"}, torch.nn.Module.__call__.__qualname__, repr(hook)[:14])
scripted = torch.jit.trace(torch.nn.Linear(3, 3), torch.ones(1, 3))
scripted(torch.ones(2, 3)).sum().backward()
print(len(pickle.dumps(torch.ones(2, requires_grad=True))), copy.deepcopy(torch.ones(2, requires_grad=True)).grad_fn)
try:
    copy.deepcopy(torch.ones(2, requires_grad=True) * 2)
except RuntimeError as error:
    print(str(error)[:60])
