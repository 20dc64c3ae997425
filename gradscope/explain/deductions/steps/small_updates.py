"""Parameters that steps leave as they were, though they have gradients."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import takewhile

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.optimizers import is_clipping
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.model.flow import GradientState, OptimizerLook
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin, Site
from gradscope.model.training import STEP

_LOOKS = 3
_MODULES = "nn/modules/module.py"
_CLIPS = ("norm", "clamp_min_", "clamp_max_", "clamp_")  # in the names of the operators
_LOW = ("float16", "bfloat16", "half")
_MOST = 0.5  # of the elements: that one parameter rests may have its reason
_ROUNDED = 0.2  # of the elements, beside parameters that rest altogether
# Those of torch keep nothing of what they round away.
_OF_TORCH = frozenset(("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "NAdam", "RAdam", "Adamax"))
FEW = 0.01  # of the elements, where a low dtype rounds most steps away
Look = tuple[int, int, int]  # a step, the elements that it changed, those that were looked at
Unchanged = tuple[int, list[str], int, int, int, str | None]


def unchanged(case: Case) -> Iterator[Unchanged]:
    """The optimizers whose looked-at steps change nothing, or nearly nothing in a low dtype.

    Their parameters that had gradients, how many steps the run had by the last look, the elements that changed, the
    elements that were looked at, and the low dtype.
    """
    moved = _with_gradient(case)
    seen: dict[int, dict[str, list[Look]]] = defaultdict(lambda: defaultdict(list))
    for one in case.updates():
        if (one.optimizer, one.count, one.parameter) in moved and not _rests(case, one.optimizer, one.count):
            seen[one.optimizer][one.parameter].append((one.count, one.changed, one.elements))
    for optimizer, parameters in seen.items():
        dtype = _dtype(case, optimizer, parameters)
        few = FEW if dtype is not None else 0.0
        still = {name: looks for name, looks in parameters.items() if len(looks) >= _LOOKS and _share(looks) <= few}
        if dtype is not None and _is_rounded_away(case, optimizer, parameters):
            still = parameters
        if sum(map(_elements, still.values())) >= _MOST * sum(map(_elements, parameters.values())) > 0:
            looks = [look for one in still.values() for look in one]
            changed = sum(one[1] for one in looks)
            yield optimizer, list(still), max(one[0] for one in looks) + 1, changed, _elements(looks), dtype


def _is_rounded_away(case: Case, optimizer: int, parameters: dict[str, list[Look]]) -> bool:
    """Whether most of what one of torch's own optimizers adds to parameters of a low dtype is lost, as it keeps nothing
    of it. Elements without a gradient tell nothing, and are taken off."""
    empty: dict[str, float] = defaultdict(float)
    for size in case.sizes():
        empty[size.leaf] = max(empty[size.leaf], size.zero_share)
    seen = {name: looks for name, looks in parameters.items() if len(looks) >= _LOOKS}
    changed = sum(one[1] for looks in seen.values() for one in looks)
    learned = sum(_elements(looks) * (1 - empty[name]) for name, looks in seen.items())
    kinds = {look.name for look in case.optimizer_looks() if look.optimizer == optimizer}
    rests = any(_share(looks) == 0 for looks in seen.values())
    return kinds <= _OF_TORCH and len(seen) * 2 >= len(parameters) and rests and changed <= _ROUNDED * learned


def frozen(case: Case) -> Iterator[tuple[int, list[str], int]]:
    """The optimizers that step and whose parameters never required grad nor had one, and how many steps were seen."""
    looks: dict[int, list[OptimizerLook]] = defaultdict(list)
    for look in case.optimizer_looks():
        looks[look.optimizer].append(look)
    fed = {call.optimizer for timeline in timelines(case) for _, call in timeline.of(STEP) if call.count}
    for optimizer, seen in looks.items():
        states = {one.state for look in seen for one in look.parameters}
        if len(seen) >= _LOOKS and states == {GradientState.FROZEN} and optimizer not in fed:
            yield optimizer, [one.name for one in seen[0].parameters], max(look.count for look in seen) + 1


def _share(looks: list[Look]) -> float:
    return sum(one[1] for one in looks) / max(_elements(looks), 1)


def _elements(looks: list[Look]) -> int:
    return sum(one[2] for one in looks)


def _with_gradient(case: Case) -> set[tuple[int, int, str]]:
    """Where a gradient was not zero: optimizer, step, parameter. Names that several have tell nothing."""
    return {
        (look.optimizer, look.count, one.name)
        for look in case.optimizer_looks()
        for one in look.parameters
        if one.state is GradientState.VALUES and sum(other.name == one.name for other in look.parameters) == 1
    }


def _rests(case: Case, optimizer: int, count: int) -> bool:
    """Whether a learning rate was zero in a step: that is another finding."""
    rates: dict[int, float] = {}
    for rate in case.learning_rates():
        if rate.optimizer == optimizer and rate.count <= count:
            rates[rate.group] = rate.value
    return any(value == 0 for value in rates.values())


def _dtype(case: Case, optimizer: int, names: Iterable[str]) -> str | None:
    """The low dtype of an optimizer's parameters, or of the gradients that it steps along: a model may have been cast
    after it was trained."""
    known = frozenset(names)
    kinds = {one.type.dtype for one in dataflow(case).tensors.values() if one.leaf in known and one.parameter}
    backward = next((look.backward for look in case.optimizer_looks() if look.optimizer == optimizer), None)
    for node in case.graph(backward).nodes if backward in case.graph_sizes() else ():
        if node.accumulates and node.leaf in known:
            kinds |= {kind.dtype for kind in node.inputs_meta if kind is not None}
    return next((kind for kind in sorted(kinds) if kind.startswith(_LOW)), None)


def clipped_lines(case: Case, lines: set[Site | None]) -> set[Site | None]:
    """Those of these lines that called torch's clipping and had it compute norms, or clamp gradients."""
    followed = _clipping(one.operation for one in dataflow(case).operations)
    if lines <= followed:
        return lines  # the first steps have told: a run's stretches of operators are many
    return lines & (followed | _clipping(case.operators()))


def _clipping(operations: Iterable[Operation]) -> set[Site | None]:
    return {
        operation.site
        for operation in operations
        if base_name(operation.name).endswith(_CLIPS) and is_clipping(operation.stack)
    }


def low_dtype_at(case: Case) -> Site | None:
    """The only line that gives a model, or anything, a low dtype: as it is written, or as it ran."""
    written = list(syntax(case).everywhere(_lowers))
    ran = {site for block in case.blocks() for one in block.operations if (site := _converts(one)) is not None}
    found = written or list(ran)
    return found[0] if len(found) == 1 else None


def _converts(operation: Operation) -> Site | None:
    """The line of a module's .to(...) that gave its parameters another dtype."""
    if base_name(operation.name) != "_to_copy":
        return None
    inner = takewhile(lambda site: site.origin is not Origin.USER, operation.stack)
    return operation.site if any(site.function == "_apply" and _MODULES in site.file for site in inner) else None


def _lowers(node: ast.AST) -> bool:
    """`model.half()`, `model.bfloat16()`, `model.to(torch.bfloat16)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    given = [ast.unparse(one) for one in (*node.args, *(one.value for one in node.keywords))]
    return (node.func.attr in ("half", "bfloat16") and not given) or (
        node.func.attr == "to" and any(one.endswith(_LOW) for one in given)
    )
