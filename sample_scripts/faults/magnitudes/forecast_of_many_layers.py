"""Predicts the next value of a curve with a stack of LSTMs."""
# as in https://www.whosebug.com/question/4230002/Output-from-LSTM-not-changing-for-different-inputs

import torch
from torch import nn


class Forecast(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.lstm = nn.LSTM(1, width, layers, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        states, _ = self.lstm(x)
        return self.head(states[:, -1])


def main():
    torch.manual_seed(0)
    model = Forecast(width=16, layers=12)  # expect: GS736
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(12):
        x = torch.randn(32, 10, 1).cumsum(1)
        loss = nn.functional.mse_loss(model(x), x[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
