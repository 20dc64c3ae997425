"""Torch's own messages and hints, and warnings that are shown once."""

import warnings

import torch


def said(work):
    try:
        work()
    except Exception as error:
        print(type(error).__name__, error)


def mutated(anomaly=None):
    y = torch.ones(2, requires_grad=True).exp()
    y.add_(1)
    with torch.autograd.set_detect_anomaly(anomaly) if anomaly is not None else warnings.catch_warnings():
        y.sum().backward()


said(mutated)
said(lambda: torch.ones(2, requires_grad=True).exp().backward())
said(lambda: torch.ones(2).sum().backward())
said(lambda: torch.ones(2, requires_grad=True).exp().grad)


def say():
    warnings.warn("said once", stacklevel=1)


for _ in range(3):
    say()
    torch.ones(2, requires_grad=True).sum().backward()
x = torch.ones(2, requires_grad=True)
for _ in range(3):
    (x * 2).grad  # a warning of torch's own, shown once
for _ in range(3):
    z = (x * 2).sum()
    z.backward(create_graph=True)  # warns that it leaks
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    said(mutated)
    said(lambda: mutated(False))
    say()
print([str(one.message) for one in caught])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.autograd.set_detect_anomaly(True):
        said(lambda: torch.zeros(1, requires_grad=True).sqrt().mul(0).backward())
print([str(one.message).partition("File")[0].strip() for one in caught])
warnings.simplefilter("error")
said(say)
said(mutated)
print([one[:3] for one in warnings.filters[:2]])
