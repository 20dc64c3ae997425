"""Qualified names of modules and parameters. They are learned from the outermost module that runs, and a tensor
outside any module is named by the global variable of the script that holds it.
"""

from __future__ import annotations

import sys
import threading
import weakref
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from gradscope.torch_internals.tensors import innermost

_ROOM = 256  # tensors outside of modules after which the dead ones are forgotten
NAMELESS = "leaf"


class QualifiedNames:
    """Knows names by identity and never keeps a module or a tensor alive."""

    def __init__(self) -> None:
        self._modules: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._parameters: dict[int, Parameter] = {}
        self._others: dict[int, _Other] = {}
        self._room = _ROOM
        self._holders: dict[str, list[Parameter]] = {}
        self._labels: dict[str, int] = {}
        self._roots: list[tuple[weakref.ref[Any], str]] = []
        self._learning = threading.RLock()  # each thread may have models of its own

    def learn(self, root: torch.nn.Module) -> list[tuple[str, str]]:
        """Learn the names below a module that is called from outside any other.

        Answers with the parameters that have more than one: the name that is used, and another.
        """
        with self._learning:
            for path, module in root.named_modules():
                if not self.path(module):
                    self._modules[id(module)] = (weakref.ref(module), path)
            return self._learn_parameters(root, self._label(root))

    def path(self, module: torch.nn.Module) -> str | None:
        """The module's qualified name, "" for an outermost one, None when it is not known."""
        known = self._modules.get(id(module))
        return known[1] if known is not None and known[0]() is module else None

    def module(self, module: torch.nn.Module) -> str:
        """A module's name for people: its qualified name, that of the variable that holds it, or its class."""
        path = self.path(module)
        return path or next((label for root, label in self._roots if root() is module), None) or _name(module)

    def models(self) -> list[torch.nn.Module]:
        """The living modules that were called from outside any other, in the order of their first calls."""
        found = (root() for root, _ in self._roots)
        return [one for one in found if one is not None]

    def leaf(self, tensor: torch.Tensor) -> str:
        """A leaf's name: a parameter's qualified name, a global variable's, or "leaf".

        When two models have a parameter of the same name, both get their model's class in front.
        """
        known = self._parameters.get(id(tensor))
        if known is not None and known.tensor() is tensor:
            return f"{known.owner}.{known.path}" if len(self._holders[known.path]) > 1 else known.path
        other = self._others.get(id(tensor))
        if other is not None and other.tensor() is tensor and (other.name != NAMELESS or not other.is_due()):
            return other.name
        return self._find(tensor, other)

    def _find(self, tensor: torch.Tensor, asked: _Other | None) -> str:
        """The name of a leaf that is not known so far. A transform's has that of the tensor inside."""
        inside = innermost(tensor)
        if inside is not tensor:
            return self.leaf(inside)
        for root, label in self._roots:  # a parameter that was put in place after the first call
            module = root()
            if module is not None and any(parameter is tensor for parameter in module.parameters()):
                with self._learning:
                    self._learn_parameters(module, label)
                return self.leaf(tensor)
        name = _variable(tensor) or NAMELESS
        if asked is not None and asked.tensor() is tensor:
            asked.name = name
            return name
        if len(self._others) >= self._room:  # a new leaf in each step
            self._others = {key: known for key, known in self._others.copy().items() if known.tensor() is not None}
            self._room = max(_ROOM, 2 * len(self._others))
        self._others[id(tensor)] = _Other(weakref.ref(tensor), name)
        return name

    def forget(self, tensor: torch.Tensor) -> None:
        """A tensor is about to become another: its name is learned anew."""
        with self._learning:
            known = self._parameters.pop(id(tensor), None)
            self._others.pop(id(tensor), None)
            if known is not None:
                self._holders[known.path] = [one for one in self._holders.get(known.path, ()) if one is not known]

    def tensor(self, identity: int) -> torch.Tensor | None:
        """The living leaf with this id(), if its name was asked for before."""
        known = self._parameters.get(identity)
        other = self._others.get(identity)
        reference = known.tensor if known is not None else None if other is None else other.tensor
        return None if reference is None else reference()

    def _learn_parameters(self, root: torch.nn.Module, label: str) -> list[tuple[str, str]]:
        others = []
        for path, one in root.named_parameters(remove_duplicate=False):
            tensor = innermost(one)  # functional_call puts the tensors of a transform in place
            known = self._parameters.get(id(tensor))
            if known is None or known.tensor() is not tensor:
                parameter = Parameter(weakref.ref(tensor), path, label)
                # first, because it is asked of each parameter that is known: a signal handler may raise in between
                others_there = [one for one in self._holders.get(path, ()) if one.is_another_than(tensor)]
                self._holders[path] = [*others_there, parameter]
                self._parameters[id(tensor)] = parameter
            elif known.path != path:
                others.append((known.path, path))
        return others

    def _label(self, root: torch.nn.Module) -> str:
        """The variable that holds a model, else its class, numbered from the second of its class on."""
        self._roots = [one for one in self._roots if one[0]() is not None]
        for known, label in self._roots:
            if known() is root:
                return label
        name = _name(root)
        count = self._labels[name] = self._labels.get(name, 0) + 1
        label = name if count == 1 else f"{name}#{count}"
        self._roots.append((weakref.ref(root), label))
        return label


@dataclass(frozen=True)
class Parameter:
    """A parameter's qualified name, and the label of the outermost module that it was learned from."""

    tensor: weakref.ref[Any]
    path: str
    owner: str

    def is_another_than(self, tensor: torch.Tensor) -> bool:
        """Whether it lives and is not this one."""
        own = self.tensor()
        return own is not None and own is not tensor


@dataclass(slots=True)
class _Other:
    """A leaf outside of the modules that ran. One without a name may get one: it is asked for before it has a place."""

    tensor: weakref.ref[Any]
    name: str
    asked: int = 1

    def is_due(self) -> bool:
        """Whether to look for a name again: every power of two of the times that it was asked for."""
        self.asked += 1
        return self.asked & (self.asked - 1) == 0


def _name(module: torch.nn.Module) -> str:
    return _variable(module) or type(module).__name__


def _variable(wanted: Any) -> str | None:
    """The global variable of the script that holds an object, or the attribute of one: `learner.net`.

    The dicts are read themselves, so that nothing of the program runs. A function's variables are not looked at: that
    would renew what an earlier `locals()` of the program has returned, up to Python 3.12.
    """
    script = sys.modules.get("__main__")
    names = vars(script).copy() if script else {}
    for name, value in names.items():
        if value is wanted:
            return name
    for name, value in names.items():
        if type(value).__dictoffset__ > 0 and not issubclass(type(value), (type, ModuleType, torch.nn.Module)):
            for attribute, held in object.__getattribute__(value, "__dict__").copy().items():
                if held is wanted:
                    return f"{name}.{attribute}"
    return None
