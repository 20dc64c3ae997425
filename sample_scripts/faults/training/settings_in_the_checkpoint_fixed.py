"""The settings of a run are kept with its weights, as argparse hands them over."""

# as in https://github.com/openvdb/fvdb-reality-capture/pull/147
import argparse
import io

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=6)
settings = parser.parse_args([])
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, settings.width), nn.Tanh(), nn.Linear(settings.width, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
file = io.BytesIO()
for _ in range(3):
    x = torch.randn(6, 4)
    loss = (model(x) - x[:, :1]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save({"settings": vars(settings), "weights": model.state_dict()}, file)
file.seek(0)
model.load_state_dict(torch.load(file)["weights"])
