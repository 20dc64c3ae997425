"""GS716: parameters that a loop spares from freezing, and that had been frozen before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.states.sparing_loops import SparingLoop, freezes, goes_over, sparing_loops, thaws
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.words import several
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.site import Site

_TIMES = 2  # stretches of operators that read such a parameter with gradients on
_PARTS = ("parameters", "named_parameters", "modules", "named_modules", "children")


def spared_and_frozen(case: Case) -> Iterator[Cause]:
    """What it flags: a loop that freezes all parameters but some, where those were frozen before and stay so.

    Why: a loop that only ever says False leaves what it spares as it was. If the whole model had been frozen before,
    the adapters or layers that are to learn do not, and what else requires grad, a new head say, trains without them.

    Wrong:
        model.requires_grad_(False)
        for name, p in model.named_parameters():
            if "lora_" not in name:
                p.requires_grad = False

    Right:
        for name, p in model.named_parameters():
            p.requires_grad = "lora_" in name

    Do instead: set requires_grad to what the name says, True or False.

    How it is found: the condition of such a loop is worked out for the names of the parameters that were read. Those
    that it spares required no grad in any forward, several of which read them in training; another line freezes
    whole models, and none may thaw what is spared. A hint.
    """
    held = any(look.parameters for look in case.optimizer_looks())
    for loop in sparing_loops(case) if held else ():
        spared = [one for one in _parameters(case) if loop.spared(one.leaf or "")]
        freeze = _whole_freeze(case, loop)
        if not spared or freeze is None or _may_thaw(case, spared) or not _rest(case, spared):
            continue
        names = tuple(one.leaf or "" for one in spared)
        yield Cause(
            f"this spares {several(names)} and does not thaw what was frozen before: none of them learns",
            loop.site,
            (Related("cause_at", freeze, "freezes"),),
            certain=False,
            tensor=names[0],
        )


def _parameters(case: Case) -> list[FlowTensor]:
    """The parameters of floating numbers that were read under a name."""
    found = (one for one in dataflow(case).tensors.values() if one.parameter and one.leaf)
    return [one for one in found if not dataflow(case).is_whole(one.number)]


def _rest(case: Case, spared: list[FlowTensor]) -> bool:
    """Whether none of them ever requires grad, and each is read in training."""
    flow = dataflow(case)
    for one in spared:
        met = [(flow.operations[at], read) for at, read in flow.met(one.number)]
        forwards = [(each, read) for each, read in met if each.backward is None and _is_of_forward(each)]
        if len({each.run for each, _ in forwards}) < _TIMES or any(read.requires_grad for _, read in forwards):
            return False
    return True


def _is_of_forward(operation: FlowOperation) -> bool:
    """Whether an operator ran in a module's forward with gradients on, as no initialisation does."""
    return operation.operation.grad and operation.operation.module is not None


def _whole_freeze(case: Case, loop: SparingLoop) -> Site | None:
    """The only other lines that freeze: of a model, or a loop over all parameters of one. The last of them."""
    found: list[Site] = []
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            place = freezes(node)
            if isinstance(node, ast.keyword) and node.arg == "requires_grad" and not _is_true(node.value):
                return None  # what is made frozen
            if place is None or any(node is one for one in ast.walk(loop.over)):
                continue
            site = syntax(case).site(file, getattr(node, "lineno", 1))
            around = syntax(case).loop(site)
            if not _is_of_loop(around, place) or _goes_over_all(around, node):
                found.append(site)
    return found[-1] if found else None


def _may_thaw(case: Case, spared: list[FlowTensor]) -> bool:
    """Whether a line of the program may make one of them learn: it speaks of no other part of a model."""
    parts = {part for one in spared for part in (one.leaf or "").split(".")}
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            place = thaws(node)
            if place is None:
                continue
            around = syntax(case).loop(syntax(case).site(file, getattr(node, "lineno", 1)))
            told = around.iter if isinstance(around, ast.For) and _is_of_loop(around, place) else place
            said = {one.attr for one in ast.walk(told) if isinstance(one, ast.Attribute)} - {*_PARTS}
            if not said or said & parts:
                return True
    return False


def _is_of_loop(around: ast.For | ast.While | None, place: ast.expr) -> bool:
    return isinstance(around, ast.For) and last_name(place) in _names(around.target)


def _goes_over_all(around: ast.For | ast.While | None, node: ast.AST) -> bool:
    """Whether a loop goes over the parameters of a model and says the same of each."""
    if not isinstance(around, ast.For) or goes_over(around) not in _PARTS[:2] or len(around.body) != 1:
        return False
    statement = around.body[0]
    return node is statement or (isinstance(statement, ast.Expr) and node is statement.value)


def _is_true(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
