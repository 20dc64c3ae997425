"""Two losses of one model are derived one after the other by a helper.

As in https://github.com/huggingface/transformers/issues/1563.
"""

import torch
from torch import nn


class Learner:
    def __init__(self, model, bound):
        self.model, self.bound = model, bound
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def learn_from(self, loss):
        loss.backward()
        return loss.item()

    def step(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.bound)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def main():
    torch.manual_seed(0)
    learner = Learner(nn.Linear(4, 2), 0.5)
    for step in range(24):
        x = torch.randn(16, 4)
        first = learner.learn_from((learner.model(x)[:, 0] - x.sum(1)).square().mean())
        second = learner.learn_from((learner.model(x)[:, 1] - x.prod(1)).abs().mean())
        learner.step()
        if step % 8 == 0:
            print(f"{step}: {first:.4f} {second:.4f}")


main()
