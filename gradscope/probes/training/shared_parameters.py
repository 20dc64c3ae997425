"""Parameters that several attributes share, as tied weights do, and which load_state_dict(assign=True) makes several.

It is asked when a model is called next: until then the program may tie them again.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from torch import nn

Shared = tuple[tuple[str, ...], ...]  # for each parameter with several names, these


@dataclass(frozen=True, slots=True)
class Parted:
    """Names of what was one parameter before the load at `stack`; `count` of them were, and `total` they are."""

    names: tuple[str, ...]
    stack: int
    count: int
    total: int


class SharedParameters:
    """Remembers which were one before a load, and says which are not any more."""

    def __init__(self) -> None:
        self._loaded: list[tuple[weakref.ref[nn.Module], Shared, int]] = []

    def loads(self, module: nn.Module, stack: int) -> None:
        """A module is about to have other parameters put in place."""
        shared = shared_in(module)
        if shared:
            self._loaded.append((weakref.ref(module), shared, stack))

    def parted(self) -> Iterator[Parted]:
        """What was parted since it was asked last."""
        while self._loaded:
            reference, shared, stack = self._loaded.pop()
            module = reference()
            if module is None:
                continue
            now = {name: id(one) for name, one in nn.Module.named_parameters(module, remove_duplicate=False)}
            for names in shared:
                different = {now[name] for name in names if name in now}
                if len(different) > 1:
                    yield Parted(names, stack, 1, len(different))


def shared_in(module: nn.Module) -> Shared:
    """The names of each parameter of a module that has several."""
    names: dict[int, list[str]] = defaultdict(list)
    for name, one in nn.Module.named_parameters(module, remove_duplicate=False):
        names[id(one)].append(name)
    return tuple(tuple(found) for found in names.values() if len(found) > 1)
