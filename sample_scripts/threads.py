"""Train copies of a model in worker threads, each with its own forward and backward, and average what they learned."""

import threading

import torch
from torch import nn

WORKERS = 3
ROUNDS = 3
STEPS = 4


def make_model():
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))


class Worker(threading.Thread):
    """Gradient descent on a shard of the data, in a thread of its own."""

    def __init__(self, weights, inputs, targets):
        super().__init__()
        self.model = make_model()
        self.model.load_state_dict(weights)
        self.inputs = inputs
        self.targets = targets
        self.loss = None

    def run(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        for _ in range(STEPS):
            loss = (self.model(self.inputs) - self.targets).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        self.loss = loss.item()


def average(models):
    states = [model.state_dict() for model in models]
    return {name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]}


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    inputs = torch.randn(WORKERS * 16, 4)
    targets = inputs.prod(dim=1, keepdim=True)
    weights = make_model().state_dict()
    for number in range(ROUNDS):
        shards = zip(inputs.chunk(WORKERS), targets.chunk(WORKERS), strict=True)
        workers = [Worker(weights, *shard) for shard in shards]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        weights = average([worker.model for worker in workers])
        print(f"round {number} losses {' '.join(f'{worker.loss:.6f}' for worker in workers)}")
    print(f"final loss {sum(worker.loss for worker in workers) / WORKERS:.9f}")


if __name__ == "__main__":
    main()
