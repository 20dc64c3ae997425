"""GS778: a checkpoint that draws other random numbers when it runs again. The surprise: nothing fails."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.chance import draws
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.findings.transforms.checkpoints import boundary, caller, within
from gradscope.model.finding import Related
from gradscope.model.notice import FORGETS_CHANCE
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin, Site

_SETTING = "preserve_rng_state"
_GIVEN = "generator"  # in the name of an operator's overload that takes one
_STATES = frozenset({"manual_seed", "seed", "set_state", "Generator", "fork_rng"})


def other_numbers(case: Case) -> Iterator[Cause]:
    """What it flags: a checkpoint with preserve_rng_state=False around something random, such as dropout, or around
    what draws from a torch.Generator of the program's own.

    Why: the function is run again in the backward. Without the state of the generators its dropout masks and its noise
    are other ones than those that the loss was computed with: the gradient is that of another function, and no error
    tells. The checkpoint keeps the state of torch's own generators alone.

    Wrong:
        x = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)     # block has dropout

    Right:
        x = checkpoint(block, x, use_reentrant=False)

    Do instead: leave preserve_rng_state at True wherever anything random may run inside, it costs little; draw from
    torch's own generator inside, or draw outside and hand the numbers in.

    How it is found: what the checkpoint was given, read off the graph, and an operator inside it that draws random
    numbers, seen in the forward. Or an operator that was given a generator, in the forward and again in the backward,
    in functions that set no generator's state.
    """
    yield from _of_own_generators(case)
    forgetful = {caller(notice.stack): None for notice in case.notices() if notice.what == FORGETS_CHANCE}
    drawn = _drawn(case) if forgetful else {}
    for site in forgetful:
        if site is not None and site in drawn:
            operation = drawn[site]
            yield Cause(
                f"this checkpoint does not keep the state of the random numbers: {base_name(operation.name)} draws "
                "others when it runs again, and the gradient is not that of the loss",
                _setting(case, site),
                (Related("differs_at", operation.site, base_name(operation.name)),),
                op=operation.name,
                module=None if operation.module is None else operation.module.label,
            )


def _of_own_generators(case: Case) -> Iterator[Cause]:
    """Draws from the program's own generators that happen again when a checkpoint runs again, each line once."""
    flow = dataflow(case)
    checkpointed = (flow.operations[at] for at in flow.under(lambda stack: boundary(stack) is not None))
    given = [one for one in checkpointed if _GIVEN in one.operation.name.rpartition(".")[2]]
    again = {one.site for one in given if one.backward is not None}
    first = {one.site: one.operation for one in reversed(given) if one.backward is None}
    for site, operation in first.items():
        if site in again and not any(_sets_state(case, one) for one in within(operation)):
            yield Cause(
                f"{base_name(operation.name)} draws from a generator of the program's own: others when the checkpoint "
                "runs again, whose gradient is not that of the loss",
                site,
                (Related("called_at", caller(operation.stack), "checkpoint"),),
                op=operation.name,
                module=None if operation.module is None else operation.module.label,
            )


def _sets_state(case: Case, site: Site) -> bool:
    """Whether the function around a line of the program's sets the state of a generator, or none can be read."""
    if site.origin is not Origin.USER:
        return False
    around = syntax(case).function(site)
    names = (node.attr for node in ast.walk(around) if isinstance(node, ast.Attribute)) if around is not None else ()
    return around is None or not _STATES.isdisjoint(names)


def _drawn(case: Case) -> dict[Site, Operation]:
    """The first operator of a forward that draws random numbers in each checkpoint, by the line that called it."""
    found: dict[Site, Operation] = {}
    for block in case.blocks():
        for operation in block.operations if block.backward is None else ():
            if draws(operation) and boundary(operation.stack) is not None:
                site = caller(operation.stack)
                if site is not None:
                    found.setdefault(site, operation)
    return found


def _setting(case: Case, site: Site) -> Site:
    """The line of the setting: in the call, or where it stands once in all files."""
    statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
    for node in ast.walk(statement) if statement is not None else ():
        if _is_setting(node):
            return syntax(case).site(site.file, node.value.lineno, site.function)
    lines = list(syntax(case).everywhere(_is_setting))
    return lines[0] if len(lines) == 1 else site


def _is_setting(node: ast.AST) -> TypeGuard[ast.keyword]:
    return isinstance(node, ast.keyword) and node.arg == _SETTING
