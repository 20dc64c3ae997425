"""A process that leaves at once, in the middle of a backward, with threads and exit functions waiting."""

import atexit
import os
import sys
import threading

import torch

weight = torch.ones(2, requires_grad=True)
atexit.register(print, "never said")
threading.Thread(target=threading.Event().wait, daemon=True).start()


def leave(gradient):
    print("leaving")
    sys.stdout.flush()
    os._exit(7)


y = (weight * 2).exp()
(weight * 3).sum().backward()
y.register_hook(leave)
y.sum().backward()
