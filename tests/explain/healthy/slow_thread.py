"""A thread takes its time over one forward, while the main thread makes many steps: its graph is none that is kept."""

import threading

import torch

torch.manual_seed(0)
fast = torch.nn.Linear(4, 1)
slow = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(24))
go_on, done = threading.Semaphore(0), threading.Semaphore(0)


def one_long_forward():
    x = torch.ones(2, 4)
    for layer in slow:
        go_on.acquire()
        x = layer(x).tanh()
        done.release()
    print(x.shape)


thread = threading.Thread(target=one_long_forward)
thread.start()
optimizer = torch.optim.SGD(fast.parameters(), 0.01)
for _ in slow:
    go_on.release()
    done.acquire()
    optimizer.zero_grad()
    fast(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
thread.join()
