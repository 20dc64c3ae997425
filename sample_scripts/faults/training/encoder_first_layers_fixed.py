"""Only the last layers of a small encoder were to be tuned; the first ones drift as far as they do."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, width=16, depth=4):
        super().__init__()
        self.embed = nn.Embedding(20, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True) for _ in range(depth)
        )
        self.classify = nn.Linear(width, 3)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.classify(x.mean(1))


class Trainer:
    def __init__(self, model, frozen):
        self.model = model
        for block in model.layers[:frozen]:
            block.requires_grad_(False)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(self, ids, labels):
        loss = nn.functional.cross_entropy(self.model(ids), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(1)
    model = Encoder()
    first = model.layers[0].linear1.weight.detach().clone()
    trainer = Trainer(model, frozen=2)
    for step in range(30):
        ids = torch.randint(0, 20, (8, 6))
        loss = trainer.step(ids, ids[:, 0] % 3)
        if step % 10 == 0:
            print(f"step {step} loss {loss:.3f}")
    print("the first layer moved by", (model.layers[0].linear1.weight - first).abs().max().item())


if __name__ == "__main__":
    main()
