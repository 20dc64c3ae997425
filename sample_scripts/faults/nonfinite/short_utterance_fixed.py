"""A transcript of equal letters needs a blank between each two: an utterance with too few frames counts for nothing."""

# as in https://github.com/FangShancheng/ABINet/issues/65
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 6))
criterion = nn.CTCLoss(zero_infinity=True)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(8):
    frames = torch.randn(2, 7, 4)
    letters = torch.tensor([[1, 2, 3, 4, 5], [2, 2, 2, 2, 2] if step == 5 else [5, 4, 3, 2, 1]])
    scores = model(frames).log_softmax(2)
    lengths = torch.tensor([7, 7]), torch.tensor([5, 5])
    loss = criterion(scores.transpose(0, 1), letters, *lengths)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
