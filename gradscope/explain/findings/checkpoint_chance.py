"""GS778: a checkpoint that draws other random numbers when it runs again. The surprise: nothing fails."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.findings.checkpoints import boundary, caller
from gradscope.model.finding import Related
from gradscope.model.notice import FORGETS_CHANCE
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site

_DRAWS = (
    "bernoulli",
    "native_dropout",
    "_fused_dropout",
    "rand",
    "randn",
    "rand_like",
    "randn_like",
    "randint",
    "randperm",
    "normal",
    "uniform",
    "exponential",
    "multinomial",
    "poisson",
    "rrelu_with_noise",
)
_SETTING = "preserve_rng_state"


def other_numbers(case: Case) -> Iterator[Cause]:
    """What it flags: a checkpoint with preserve_rng_state=False around something random, such as dropout.

    Why: the function is run again in the backward. Without the state of the generators its dropout masks and its noise
    are other ones than those that the loss was computed with: the gradient is that of another function, and no error
    tells.

    Wrong:
        x = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)     # block has dropout

    Right:
        x = checkpoint(block, x, use_reentrant=False)

    Do instead: leave preserve_rng_state at True wherever anything random may run inside; it costs little.

    How it is found: what the checkpoint was given, read off the graph, and an operator inside it that draws random
    numbers, seen in the forward.
    """
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


def _drawn(case: Case) -> dict[Site, Operation]:
    """The first operator of a forward that draws random numbers in each checkpoint, by the line that called it."""
    found: dict[Site, Operation] = {}
    for block in case.blocks():
        for operation in block.operations if block.backward is None else ():
            if base_name(operation.name).rstrip("_") in _DRAWS and boundary(operation.stack) is not None:
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
