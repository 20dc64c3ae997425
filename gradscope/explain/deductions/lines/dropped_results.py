"""Results that are dropped on purpose: a model is run for what a hook, or its own state, takes on the way, or a rank's
part comes in the place of a parameter."""

from __future__ import annotations

import ast
from collections import Counter
from functools import partial
from itertools import pairwise

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.flow import GradientState
from gradscope.model.site import Origin, Site, Stack

_PARTS = "fully_shard"  # of torch


def is_run_for_a_part(case: Case, at: int) -> bool:
    """Whether a statement drops what an operator led to, and something else that it has run is used."""
    flow = dataflow(case)
    for site in _dropping(case, flow.operations[at].operation.stack):
        beside = flow.under(partial(_has, site))
        if any(made in flow.useful for other in beside for made in flow.operations[other].makes):
            return True
    return False


def is_left_beside_its_part(case: Case, at: int) -> bool:
    """Whether an operator read a parameter for fully_shard() to put a rank's part in its place, and optimizers hold as
    many that train as a backward reaches: the parts, beside which the old one changes nothing."""
    stack = dataflow(case).operations[at].operation.stack
    if not any(site.function == _PARTS and site.origin is Origin.TORCH for site in stack):
        return False
    reached = Counter(leaf.backward for leaf in case.leaf_gradients())
    looks = case.optimizer_looks()
    trained = {one.tensor for look in looks for one in look.parameters if one.state is GradientState.VALUES}
    return len(trained) >= max(reached.values(), default=1)


def _has(site: Site, stack: Stack) -> bool:
    return site in stack


def _dropping(case: Case, stack: Stack) -> list[Site]:
    """The lines of a stack that call a module, or something of torch's, and take nothing from it."""
    frames = [site for site in stack if site.origin is not Origin.TORCH]
    calls = [outer for called, outer in pairwise(frames) if called.function == "forward"]
    return [site for site in (*frames[:1], *calls) if site.origin is Origin.USER and _drops(case, site)]


def _drops(case: Case, site: Site) -> bool:
    statement = syntax(case).statement(site)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
