"""An inner step of meta learning over all parameters, one of which forward does not use."""

import torch
from inner import adapt
from learner import Learner
from torch import nn

torch.manual_seed(0)
learner = Learner()
for task in range(3):
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    fast = adapt(learner, nn.functional.mse_loss(learner(x), y), 0.1)
    print(len(fast))
