"""Classifies intents; the classes that are predicted are used for the accuracy."""
# as in https://php.bkmy88.com/faq/1835025.html

import torch
from torch import nn


def accuracy(labels, predicted):
    return (labels == predicted).float().mean().item()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    right = []
    for _ in range(8):
        x = torch.randn(32, 6)
        labels = x[:, :3].argmax(1)
        logits = model(x)
        predicted = torch.softmax(logits, dim=1).argmax(dim=1).float()
        loss = nn.functional.mse_loss(predicted, labels.float())  # expect: GS722
        right.append(accuracy(labels, predicted))
        optimizer.zero_grad()
        loss.backward()  # expect: GS722 fails_at
        optimizer.step()
    print(f"accuracy {right[-1]:.2f}")


if __name__ == "__main__":
    main()
