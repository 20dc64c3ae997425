"""The script's own anomaly switches work, and show only what the script set."""
# python:

import torch
from torch.autograd import detect_anomaly, set_detect_anomaly
from torch.utils.checkpoint import checkpoint


def state():
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def nan():
    x = torch.zeros(1, requires_grad=True)
    try:
        x.sqrt().mul(0).backward()
    except RuntimeError as error:
        return str(error)
    return x.grad.item()


print(state(), nan())
with set_detect_anomaly(True):
    print(state(), nan())
    with set_detect_anomaly(False):
        print(state(), nan())
        with detect_anomaly(check_nan=False):
            print(state(), nan())
        print(state(), nan())
    print(state(), nan())
print(state(), nan())
set_detect_anomaly(False)
print(state(), nan())
set_detect_anomaly(True)
print(state(), nan())
torch.autograd.set_detect_anomaly(True, check_nan=False)
print(state(), nan())
x = torch.ones(2, requires_grad=True)
lines = (x * 2).exp().grad_fn.metadata["traceback_"]
print(lines[-1].strip().splitlines()[0].partition(", in ")[2], type(len(lines)))
torch._C.set_anomaly_enabled(False)
torch.autograd.anomaly_mode.set_detect_anomaly(False)
print(state(), dict((x * 2).grad_fn.metadata).get("parent_"))
torch.set_anomaly_enabled(True, True)
print(state(), nan())
torch.set_anomaly_enabled(False)
print(state(), nan())


def derivative(function):
    return lambda x: torch.autograd.grad(function(x), x, create_graph=True)[0]


def recomputed(function):
    return lambda x: checkpoint(function, x, use_reentrant=False)


# Recomputation ends by an exception inside a backward: where the mode is on, torch warns of the nodes it passes.
print(
    derivative(recomputed(derivative(recomputed(lambda x: x.sin().exp()))))(torch.ones((), requires_grad=True)).item()
)
