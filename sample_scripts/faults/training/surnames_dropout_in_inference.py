"""An MLP on surnames, with the functional dropout of a book's notebook, is used after training."""

# as in https://github.com/delip/PyTorchNLPBook/issues/28
import torch
from torch import nn
from torch.nn import functional


class SurnameClassifier(nn.Module):
    def __init__(self, letters, nations):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(letters, 24), nn.Linear(24, nations)

    def forward(self, x, apply_softmax=False):
        x = functional.relu(self.fc1(x))
        x = self.fc2(functional.dropout(x, 0.5))  # expect: GS856
        return functional.softmax(x, dim=1) if apply_softmax else x


torch.manual_seed(0)
names, nations = torch.rand(64, 26).round(), torch.randint(0, 4, (64,))
classifier = SurnameClassifier(26, 4)
optimizer = torch.optim.Adam(classifier.parameters(), lr=0.003)
for step in range(12):
    loss = functional.cross_entropy(classifier(names), nations)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

classifier.eval()
with torch.no_grad():
    for _ in range(2):
        print(classifier(names[:2], apply_softmax=True))
