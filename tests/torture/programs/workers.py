"""DataLoader workers of every kind, and processes of multiprocessing."""
# details: full

import multiprocessing

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        x = torch.full((2,), float(index), requires_grad=True)
        (x * x).sum().backward()
        return x.grad


def work(queue):
    x = torch.ones(2, requires_grad=True)
    x.exp().sum().backward()
    queue.put(x.grad.tolist())


if __name__ == "__main__":
    weight = torch.ones(2, requires_grad=True)
    for method in ("fork", "spawn", "forkserver"):
        loader = DataLoader(Numbers(), batch_size=4, num_workers=1, multiprocessing_context=method)
        for batch in loader:
            (weight * batch).sum().backward()
            print(method, weight.grad.tolist())
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        child = context.Process(target=work, args=(queue,))
        child.start()
        print(queue.get(), child.join(), child.exitcode)
