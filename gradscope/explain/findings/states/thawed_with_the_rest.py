"""GS766: a constant that was made a parameter, and that begins to learn when the rest of its model is thawed."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from math import prod

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.states.frozen_constants import FrozenConstant, frozen_constant, is_anyones
from gradscope.explain.deductions.states.thaws_of_modules import is_named, thaws_of_modules
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow, is_optimizer
from gradscope.model.finding import Related
from gradscope.model.flow import FlowTensor, GradientState
from gradscope.store.asked import kept

_LOOKS = 2  # at backward calls while it was frozen, and after
_MOVES = GradientState.VALUES


def thawed_with_the_rest(case: Case) -> Iterator[Cause]:
    """What it flags: a constant that was made a parameter which requires no grad, and that an optimizer moves since
    its whole model was thawed.

    Why: requires_grad=False is one flag for all reasons. What unfreezes a model by a loop over parameters(), or by
    requires_grad_(True), cannot tell a constant, as a table of positions or the frequencies of a random kernel, from a
    weight that was frozen for a while. A buffer is in no parameters().

    Wrong:
        self.frequencies = nn.Parameter(torch.randn(2, 64), requires_grad=False)
        ...
        model.requires_grad_(True)

    Right:
        self.register_buffer("frequencies", torch.randn(2, 64))

    Do instead: register_buffer() for what is not to learn.

    How it is found: the __init__ of a class makes it with a plain False, of a value that it computes. Forwards in
    training read it while it required no grad, as they did other parameters of the model, and it requires grad together
    with those later; an optimizer that holds it found a gradient. The lines of the source that thaw go over whole
    modules, and none names it or chooses. A hint: what comments, a load, a single number or one value for all elements
    show to be frozen for a while only is left out.
    """
    found = [(one, constant) for one in _woken(case) if (constant := _constant(case, one)) is not None]
    constants = {one.number for one, _ in found}
    for one, constant in found:
        others = [other for other in _came_with(case, one) if other.number not in constants]
        thaws = thaws_of_modules(case, constant.attribute) if others else []
        if not thaws or _is_meant(case, one, others) or _is_written(case, one):
            continue
        yield Cause(
            f"{one.leaf} was made with requires_grad=False and learns since the model was thawed: what thaws goes over "
            "all parameters",
            constant.site,
            (Related("cause_at", thaws[0], "thaws it with the rest"),) if len(thaws) == 1 else (),
            certain=False,
            tensor=one.leaf,
        )


def _woken(case: Case) -> Iterator[FlowTensor]:
    """The parameters of modules that an optimizer finds a gradient of, and that were frozen in all forwards before."""
    held = {one.tensor for look in case.optimizer_looks() for one in look.parameters if one.state is _MOVES}
    for number in sorted(held):
        one = dataflow(case).tensors.get(number)
        reached = [at for at, leaves in _leaves(case).items() if number in leaves]
        before = [at for at in _leaves(case) if reached and at < reached[0]]
        if one is not None and one.parameter and min(len(before), len(reached)) >= _LOOKS and _was_frozen(case, one):
            yield one


@kept
def _leaves(case: Case) -> dict[int, set[int]]:
    """The leaves of each backward that was looked at, in order."""
    found: dict[int, set[int]] = defaultdict(set)
    for leaf in sorted(case.leaf_gradients(), key=lambda leaf: leaf.backward):
        found[leaf.backward].add(leaf.tensor)
    return dict(found)


def _came_with(case: Case, one: FlowTensor) -> list[FlowTensor]:
    """What else the first backward that reached a parameter reached, the one before did not, and had been frozen."""
    looked = list(_leaves(case).items())
    at = next(place for place, (_, leaves) in enumerate(looked) if one.number in leaves)
    new = (dataflow(case).tensors.get(number) for number in sorted(looked[at][1] - looked[at - 1][1] - {one.number}))
    return [other for other in new if other is not None and other.parameter and _was_frozen(case, other)]


def _was_frozen(case: Case, one: FlowTensor) -> bool:
    return any(not required for _, required in _reads(case, one))


def _is_written(case: Case, one: FlowTensor) -> bool:
    """Whether the program itself gives it new values once a forward has read it."""
    flow = dataflow(case)
    first = next((at for at, _ in _reads(case, one)), len(flow.operations))
    writes = (flow.operations[at] for at, storages in flow.written.items() if at > first and one.storage in storages)
    return any(write.backward is None and not is_optimizer(write) for write in writes)


def _reads(case: Case, one: FlowTensor) -> Iterator[tuple[int, bool]]:
    """The forwards with gradients on that read a parameter inside of a module, and whether it required grad then."""
    flow = dataflow(case)
    for at, read in flow.met(one.number):
        operation = flow.operations[at]
        if operation.backward is None and operation.operation.grad and operation.operation.module is not None:
            yield at, read.requires_grad


def _constant(case: Case, one: FlowTensor) -> FrozenConstant | None:
    """Where the class of the module that reads a parameter makes it as a frozen constant; no single number is one."""
    owner, _, attribute = (one.leaf or "").rpartition(".")
    if prod(one.type.shape) <= 1:
        return None
    flow = dataflow(case)
    for at, _ in flow.met(one.number):
        module = flow.operations[at].operation.module
        if module is None:
            continue
        is_owner = module.path == owner or f".{owner}".endswith(f".{module.path}" if module.path else "")
        if module.path == owner or (is_owner and not is_anyones(case, attribute)):
            return frozen_constant(case, module.module_class, attribute)
    return None


def _is_meant(case: Case, one: FlowTensor, others: list[FlowTensor]) -> bool:
    """Whether the module has nothing else that learns, and the program takes it in hand by its name or its number."""
    owner = (one.leaf or "").rpartition(".")[0]
    if any((other.leaf or "").startswith(f"{owner}." if owner else "") for other in others):
        return False
    name = owner.rpartition(".")[2]
    return name.isdigit() or is_named(case, name, ast.Attribute, ast.Name)
