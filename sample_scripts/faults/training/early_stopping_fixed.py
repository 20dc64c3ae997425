"""MLP on a small noisy set with the best epoch remembered for the end.

Best = model.state_dict() is no copy, so the last (overfitted) weights are loaded.

https://github.com/pytorch/pytorch/issues/34765
"""

import torch
from torch import nn

torch.manual_seed(0)

w = torch.randn(20)
x_train = torch.randn(60, 20)
y_train = ((x_train @ w + 2.0 * torch.randn(60)) > 0).long()
x_val = torch.randn(200, 20)
y_val = ((x_val @ w) > 0).long()

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()


def validate():
    model.eval()
    with torch.no_grad():
        out = model(x_val)
    return criterion(out, y_val).item(), (out.argmax(1) == y_val).float().mean().item()


best_loss = float("inf")
best = None
for epoch in range(20):
    model.train()
    for i in range(0, 60, 30):
        optimizer.zero_grad()
        loss = criterion(model(x_train[i : i + 30]), y_train[i : i + 30])
        loss.backward()
        optimizer.step()
    val_loss, val_acc = validate()
    if val_loss < best_loss:
        best_loss = val_loss
        best = {k: v.clone() for k, v in model.state_dict().items()}
    if epoch % 4 == 3:
        print(f"epoch {epoch:2d} train {loss.item():.4f} val {val_loss:.4f} acc {val_acc:.3f}")

print("best val loss seen", round(best_loss, 4))
model.load_state_dict(best)
print("val loss of the loaded model", round(validate()[0], 4))
