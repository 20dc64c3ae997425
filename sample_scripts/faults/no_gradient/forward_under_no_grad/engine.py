"""One epoch of training or, without an optimizer, of evaluation."""

import torch
from torch import nn


def predict(model, x, training):
    with torch.set_grad_enabled(not training):  # expect: GS723
        return model(x)


def run_epoch(model, batches, optimizer=None):
    total = 0.0
    for x, y in batches:
        loss = nn.functional.mse_loss(predict(model, x, optimizer is not None), y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()  # expect: GS723 fails_at
            optimizer.step()
        total += float(loss.detach())
    return total
