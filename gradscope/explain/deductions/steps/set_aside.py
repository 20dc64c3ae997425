"""Parameters of a module that was tried out and then built again: a forward read them, and no backward ever came.

The surprise: they are in use as far as operators tell, and yet the optimizer that holds them has nothing to step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.model.flow import FlowTensor, GradientState

_AGAIN = "#"  # before the number of a further module of one class
Parts = dict[str, FlowTensor]


def set_aside(case: Case, unheld: Iterable[FlowTensor]) -> frozenset[int]:
    """Those that an optimizer holds, whose module has a double that trains and is in no optimizer.

    All of the module's parameters have the double's shapes, and nothing reads one once the double's are read.
    """
    doubles, found = _modules(unheld), set[int]()
    for (owner, _), old in _modules(_never_reached(case) if doubles else ()).items():
        others = [new for (kind, _), new in doubles.items() if kind == owner and _shapes(new) == _shapes(old)]
        if any(_last_use(case, old) < _first_use(case, new) for new in others):
            found |= {one.number for one in old.values()}
    return frozenset(found)


def _never_reached(case: Case) -> list[FlowTensor]:
    """The parameters that were None at every look before a step, and that no backward reached before either."""
    held = [one for look in case.optimizer_looks() for one in look.parameters]
    reached = {leaf.tensor for leaf in case.leaf_gradients()}
    reached |= {one.tensor for one in held if one.state is not GradientState.NONE}
    known = (dataflow(case).tensors.get(one) for one in {one.tensor: None for one in held} if one not in reached)
    return [one for one in known if one is not None and one.parameter]


def _modules(parameters: Iterable[FlowTensor]) -> dict[tuple[str, str], Parts]:
    """Parameters by their outermost module, which has the name of its class and a number, and by their name in it."""
    found: dict[tuple[str, str], Parts] = defaultdict(dict)
    for one in parameters:
        module, _, inner = (one.leaf or "").partition(".")
        if inner:
            found[module.partition(_AGAIN)[0], module][inner] = one
    return dict(found)


def _shapes(parts: Parts) -> dict[str, tuple[int, ...]]:
    return {name: tuple(one.type.shape) for name, one in parts.items()}


def _last_use(case: Case, parts: Parts) -> int:
    """The last operator that anything depends on through them, -1 for none."""
    return max((at for one in parts.values() for at in dataflow(case).uses(one.number)), default=-1)


def _first_use(case: Case, parts: Parts) -> int:
    return min((at for one in parts.values() for at in dataflow(case).uses(one.number)), default=-1)
