"""Collect the gradients that reach a module."""

from contextlib import contextmanager


@contextmanager
def gradients_of(module):
    seen = []

    def collect(module, grad_input, grad_output):
        seen.append(grad_output[0].norm().item())

    handle = module.register_full_backward_hook(collect)
    try:
        yield seen
    finally:
        handle.remove()
