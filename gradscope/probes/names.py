"""Qualified names of modules and parameters. They are learned from the outermost module that runs, and a tensor
outside any module is named by the global variable of the script that holds it.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

import torch


class Names:
    """Knows names by identity and never keeps a module or a tensor alive."""

    def __init__(self) -> None:
        self._modules: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._tensors: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._taken: dict[str, int] = {}
        self._roots: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()

    def learn(self, root: torch.nn.Module) -> None:
        """Learn the names below a module that is called from outside any other."""
        if type(root).__hash__ is object.__hash__:
            self._roots.add(root)
        for path, module in root.named_modules():
            if self.path(module) is None or not path:
                self._modules[id(module)] = (weakref.ref(module), path)
        for path, parameter in root.named_parameters():
            self._name(parameter, path, type(root).__name__)

    def path(self, module: torch.nn.Module) -> str | None:
        """The module's qualified name, "" for an outermost one, None when it is not known."""
        known = self._modules.get(id(module))
        return known[1] if known is not None and known[0]() is module else None

    def leaf(self, tensor: torch.Tensor) -> str:
        """A leaf's name: a parameter's qualified name, a global variable's, or "leaf"."""
        known = self._tensors.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        for root in list(self._roots):  # a parameter that was put in place after the first call
            for path, parameter in root.named_parameters():
                if parameter is tensor:
                    return self._name(tensor, path, type(root).__name__)
        return self._remember(tensor, _variable(tensor) or "leaf")

    def _name(self, tensor: torch.Tensor, path: str, owner: str) -> str:
        known = self._tensors.get(id(tensor))
        if known is not None and known[0]() is tensor and known[1] != "leaf":
            return known[1]
        holder = self._taken.setdefault(path, id(tensor))
        name = path if holder == id(tensor) else f"{owner}.{path}"
        return self._remember(tensor, name)

    def _remember(self, tensor: torch.Tensor, name: str) -> str:
        self._tensors[id(tensor)] = (weakref.ref(tensor), name)
        return name


def _variable(tensor: torch.Tensor) -> str | None:
    """The global variable of the script that holds the tensor."""
    script = sys.modules.get("__main__")
    for name, value in list(vars(script).items()) if script else ():
        if value is tensor:
            return name
    return None
