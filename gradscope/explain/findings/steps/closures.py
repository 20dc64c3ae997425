"""GS749: a closure that is to compute gradients anew, and does not."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps.gradients_of_steps import held_by, states_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import last_name
from gradscope.model.finding import Related, Severity
from gradscope.model.operation import Operation
from gradscope.model.site import Site, Stack
from gradscope.model.training import STEP

_SEARCHES = "torch/optim/lbfgs.py"  # calls its closure again and again in one step
_TIMES = 2  # steps that move more than once


def closure_derives_nothing(case: Case) -> Iterator[Cause]:
    """What it flags: LBFGS is given a closure that calls no backward().

    Why: LBFGS moves the parameters many times in one step, and calls the closure after each move for the loss and the
    gradients there. Where the closure hands back the loss of before, or computes it and no gradients, each move goes
    along the gradients of before the step, and the curvature that is estimated of their differences is that of
    nothing.

    Wrong:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step(lambda: loss)

    Right:
        def closure():
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            return loss
        optimizer.step(closure)

    Do instead: compute the loss and call backward() inside of the closure, after zero_grad().

    How it is found: in two steps or more the same parameter is moved more than once, none of the run's backward calls
    came from inside of such a step, and others give gradients to what it moves. A hint only where each step moves once,
    and the optimizer was made to move more often: `max_iter=1` needs no more than the gradients of before.
    """
    if any(_is_inside(call.stack) for call in case.backwards()):
        return
    searching = {look.optimizer for look in case.optimizer_looks() if _is_inside(look.stack) or look.name == "LBFGS"}
    reached = {tensor for states in states_at(case).values() for tensor in states}
    given = {one for one in searching if reached & held_by(case, one).keys()}
    steps = [call for timeline in timelines(case) for _, call in timeline.of(STEP) if call.optimizer in given]
    if len(given) != 1 or len(steps) < _TIMES:
        return
    again = _moves_again(case) >= _TIMES
    if again or _may_move_again(case, min(given)):
        site = steps[0].site
        closure = None if site is None else _closure(case, site)
        then = "moves on along those of before the step" if again else "ends the step after one, as nothing changes"
        yield Cause(
            f"this closure calls no backward(): LBFGS asks it for loss and gradients after each move, and {then}",
            closure or site,
            (Related("called_at", site, "step"),) if closure is not None else (),
            severity=None if again else Severity.INFO,
        )


def _may_move_again(case: Case, optimizer: int) -> bool:
    """Whether the line that makes an optimizer lets it move more than once in a step, as LBFGS does by itself."""
    made = made_at(case, optimizer)
    statement = None if made is None else syntax(case).statement(made)
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)] if statement is not None else []
    own = [call for call in calls if last_name(call.func) == "LBFGS"]
    if len(own) != 1 or any(word.arg is None for word in own[0].keywords):
        return False
    told = [word.value for word in own[0].keywords if word.arg in ("max_iter", "max_eval")] + own[0].args[2:4]
    return all(isinstance(one, ast.Constant) and isinstance(one.value, int) and one.value > 1 for one in told)


def _is_inside(stack: Stack) -> bool:
    return any(site.file.replace("\\", "/").endswith(_SEARCHES) for site in stack)


def _moves_again(case: Case) -> int:
    """How many stretches between two backward calls have a parameter that LBFGS moves more than once."""
    return sum(_moves(operations) > 1 for _, operations in case.blocks_with(_is_move))


def _is_move(operation: Operation) -> bool:
    return operation.name.startswith("aten.add_") and bool(operation.writes) and _is_inside(operation.stack)


def _moves(operations: tuple[Operation, ...]) -> int:
    written = Counter(write.leaf for one in operations for write in one.writes if write.leaf is not None)
    return max(written.values(), default=0)


def _closure(case: Case, step: Site) -> Site | None:
    """The line that defines the function which a step is given by name, where there is one of that name."""
    statement = syntax(case).statement(step)
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)] if statement is not None else []
    steps = [call for call in calls if last_name(call.func) == "step"]
    values = [one for call in steps for one in (*call.args, *(word.value for word in call.keywords))]
    names = {last_name(one) for one in values if isinstance(one, (ast.Name, ast.Attribute))}
    found = [node for node in syntax(case).nodes(step.file) if isinstance(node, ast.FunctionDef) and node.name in names]
    return syntax(case).site(step.file, found[0].lineno) if len(found) == 1 else None
