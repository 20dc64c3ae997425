"""A loop in the style of a training framework."""

import torch
from lit import LitModel, fit

torch.manual_seed(0)
fit(LitModel(), [torch.randn(4, 3) for _ in range(12)])
