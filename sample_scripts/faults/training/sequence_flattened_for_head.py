"""All outputs of a recurrent layer go into one linear layer; the layer reads time first."""

import torch
from torch import nn

LENGTH, HIDDEN = 7, 9


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.RNN(3, HIDDEN)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(LENGTH * HIDDEN, 4)

    def forward(self, x):
        hidden, _ = self.read(x.transpose(0, 1))
        return self.out(self.drop(hidden).reshape(len(x), -1))  # expect: GS851


torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(25):
    x = torch.randn(16, LENGTH, 3)
    wanted = x.abs().sum(2).argmax(1) % 4
    loss = nn.functional.cross_entropy(model(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
