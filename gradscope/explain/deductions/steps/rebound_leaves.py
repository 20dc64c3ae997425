"""Finds a leaf of no module that was given a new tensor in the middle of a run, while its optimizer keeps the old one.

Nothing names such a leaf. What shows that it took the place of another is that the lines that read that one read it, of
the same type, and that its gradients pile up: the optimizer clears those of the old one.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gradscope.explain.deductions.steps.optimizer_parameters import is_updated_by_hand
from gradscope.explain.deductions.steps.replacements import holder_of
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.optimizers import creation, idle_optimizers
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.flow import FlowTensor, GradientState
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_PILED = 2  # backward calls that reach it, the last of which meets the gradient of others
_ASKS = ("requires_grad", "Parameter(", "Variable(")
_BUILDS = "__init__"  # where it gets its first value


@dataclass(frozen=True, slots=True)
class Rebound:
    """The new leaf, by the name that it is read by, and the line that gives it that."""

    leaf: FlowTensor
    site: Site


def rebound(case: Case, old: Iterable[int], early: set[int]) -> Rebound | None:
    """The leaf of no module in the place of an `old` one that nothing reads any more; `early` are those before.

    Where several came, one after the other, each has its own turn: the program makes a new one of the last.
    """
    tensors, held = dataflow(case).tensors, {one.tensor for look in case.optimizer_looks() for one in look.parameters}
    late = {leaf.tensor for leaf in case.leaf_gradients()} - early - held
    new = [tensors[one] for one in _piled(case) if one in late & tensors.keys() and _takes_turns(case, one, late)]
    gone = [tensors[one] for one in old if one in tensors]
    for one in new if not idle_optimizers(case) else ():
        lines = _readers(case, one)
        before = [other for other in gone if other.type == one.type and lines and lines <= _readers(case, other)]
        site = None if one.parameter or not before else _binding(case, lines, before[0].number)
        if site is not None and not is_updated_by_hand(case, one):
            return Rebound(replace(one, leaf=source_lines.assigned(case, site) or one.leaf), site)
    return None


def _takes_turns(case: Case, leaf: int, late: set[int]) -> bool:
    """Whether all late leaves of the type of one that were seen to be read are read by its lines, and no two of them
    came to one backward."""
    tensors = dataflow(case).tensors
    alike = [tensors[one] for one in late if one in tensors and tensors[one].type == tensors[leaf].type]
    reached = Counter(one.backward for one in case.leaf_gradients() if one.tensor in {each.number for each in alike})
    lines = _readers(case, tensors[leaf])
    return max(reached.values(), default=0) < 2 and all(_readers(case, one) <= lines for one in alike)


def _piled(case: Case) -> list[int]:
    """The leaves whose gradient is never cleared between the backward calls that were seen to reach them."""
    states: dict[int, list[GradientState]] = defaultdict(list)
    for leaf in case.leaf_gradients():
        states[leaf.tensor].append(leaf.state)
    return [one for one, kinds in states.items() if len(kinds) >= _PILED and set(kinds[1:]) == {GradientState.VALUES}]


def _readers(case: Case, leaf: FlowTensor) -> set[Site]:
    """The lines of a forward that read a leaf with its graph, and not only its values."""
    flow = dataflow(case)
    operations = (flow.operations[at] for at in flow.readers.get(leaf.number, ()))
    forward = (one for one in operations if one.operation.grad and one.backward is None)
    return {one.site for one in forward if one.site is not None and base_name(one.operation.name) != "detach"}


def _binding(case: Case, lines: set[Site], old: int) -> Site | None:
    """The only line that gives a new value to what all of these lines read, once an optimizer holds the `old` leaf."""
    names = set.intersection(*({_read(node) for node in source_lines.at(case, site)} for site in lines)) - {""}
    made = [site for site in creation(case, holder_of(case, [old])) if site.origin is Origin.USER]
    attributes = syntax(case).everywhere(lambda node: _binds(node, names, ast.Attribute))
    files = dict.fromkeys(site.file for site in lines)  # a variable is known in its own
    variables = (
        site for file in files for site in syntax(case).calls(file, lambda node: _binds(node, names, ast.Name))
    )
    found = [site for site in (*attributes, *variables) if site.function != _BUILDS]
    found = [site for site in found if not any(site.is_in_function_of(one) and site.line < one.line for one in made)]
    asking = [site for site in found if any(word in (site.source or "") for word in _ASKS)]
    return asking[0] if len(asking) == 1 else found[0] if len(found) == 1 else None


def _read(node: ast.AST) -> str:
    """The name of what is read here, if it is a variable or an attribute."""
    is_read = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
    return last_name(node) if is_read and isinstance(node, ast.expr) else ""


def _binds(node: ast.AST, names: set[str], kind: type[ast.expr]) -> bool:
    """`log_price = ...` or `self.log_price = ...`."""
    targets = node.targets if isinstance(node, ast.Assign) else ()
    return any(isinstance(target, kind) and last_name(target) in names for target in targets)
