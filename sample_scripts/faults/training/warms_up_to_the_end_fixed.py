"""A schedule by a function counts small batches, and steps once for four: the run ends in its warm-up. As in https://github.com/huggingface/diffusers/issues/4387."""

import math

import torch
from torch import nn


class Trainer:
    def __init__(self, model, epochs=8, batches=48, every=8, share=0.2):
        self.model, self.epochs, self.batches, self.every, self.share = model, epochs, batches, every, share
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.factor)

    @property
    def total_steps(self):
        return self.epochs * self.batches // self.every

    def factor(self, step):
        warmup = int(self.share * self.total_steps)
        if step < warmup:
            return (step + 1) / warmup
        done = (step - warmup) / max(self.total_steps - warmup, 1)
        return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))

    def run(self):
        for at in range(self.epochs * self.batches):
            x = torch.randn(8, 4)
            loss = (self.model(x).squeeze(1) - x.sum(1)).square().mean()
            (loss / self.every).backward()
            if at % self.every == self.every - 1:
                self.optimizer.step()
                self.scheduler.step()
                self.optimizer.zero_grad()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"loss {Trainer(nn.Linear(4, 1)).run():.3f}")
