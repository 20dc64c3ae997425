"""What the programs print about themselves."""

import contextlib
import gc
import os
import tempfile
import weakref

import torch
from torch._dynamo.utils import counters as compile_counters

gc.freeze()  # what importing torch made is left out: counting gets quick


def numbers(*tensors):
    """Every bit of each tensor's values."""
    return [[float(value).hex() for value in tensor.detach().double().flatten()] for tensor in tensors]


def bits(*tensors):
    """One number for each tensor that differs when any bit does."""
    return [hash(tuple(tensor.detach().flatten().contiguous().view(torch.uint8).tolist())) for tensor in tensors]


def alive():
    """How many tensors have a Python object. Where operators are seen, those that only C++ holds may have one, too."""
    return sum(isinstance(one, torch.Tensor) for one in gc.get_objects())


class Lives:
    """Counts those of some objects that still live."""

    def __init__(self):
        self._references = []

    def add(self, one):
        self._references.append(weakref.ref(one))

    def count(self):
        return sum(one() is not None for one in self._references)


def checkpoint(name, *lives):
    """Print what lives now, and again after a collection."""
    before = [alive(), *(one.count() for one in lives)]
    gc.collect()
    print(name, before, [alive(), *(one.count() for one in lives)])


@contextlib.contextmanager
def silent():
    """The profiler writes lines of its own, with the time in them, to standard error."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as elsewhere:
        os.dup2(elsewhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def memory(work):
    """Run something and print the most bytes that torch held, and what it still holds."""
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True)
    with silent():
        profiler.start()
    kept = work()
    gc.collect()
    with silent():
        profiler.stop()
    held = most = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    print(f"peak bytes: {most}")
    print("held bytes:", held)
    return kept


def counters():
    """The compiler's own counts, without those that differ from run to run."""
    return {name: dict(sorted(counts.items())) for name, counts in sorted(compile_counters.items())}
