"""What an encoder gives for the instances of each bag is turned into rows of instances by a transpose."""

# as in https://github.com/zhouhaoyi/Informer2020/issues/59
import torch
from torch import nn

torch.manual_seed(0)
BAGS, INSTANCES = 6, 11
encoder = nn.Linear(4, 8)
score = nn.Linear(BAGS * 8, 2)
optimizer = torch.optim.SGD([*encoder.parameters(), *score.parameters()], lr=0.05)
for _ in range(4):
    bags, label = torch.randn(BAGS, INSTANCES, 4), torch.randint(0, 2, (INSTANCES,))
    rows = encoder(bags).tanh().transpose(0, 1).flatten(1)
    loss = nn.functional.cross_entropy(score(rows), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
