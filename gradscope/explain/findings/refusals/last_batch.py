"""GS814: a batch of one sample, for which batch normalisation has nothing to normalise by."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.site import Origin, Site

_REFUSED = "Expected more than 1 value per channel when training"
_ONE = "torch.Size([1,"
_STEPS = 3  # arguments of a range that has a step


def batch_of_one(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in batch normalisation that was given one value a channel, of one sample.

    Why: in training mode a batch is normalised by its own mean and variance, which one value does not have. The last
    batch of an epoch is what the batch size leaves over: after many good steps it may be a single sample.

    Wrong:
        loader = DataLoader(data, batch_size=4, shuffle=True)    # of 157 samples

    Right:
        loader = DataLoader(data, batch_size=4, shuffle=True, drop_last=True)

    Do instead: drop the last batch, take another batch size, or a normalisation that needs no batch.

    How it is found: torch's own error names an input of one sample. In a loop that trains, the line is the only one
    that makes a DataLoader which shuffles and keeps its last batch, or that cuts the data into batches; else it is the
    one that failed, and the model was to be evaluated.
    """
    for failure in case.failures():
        if _REFUSED in failure.message and _ONE in failure.message:
            trains = _in_a_loop_that_trains(case, failure)
            loaders = list(syntax(case).everywhere(_keeps_the_rest)) if trains else []
            loaders = loaders or (list(_cut_up(case, failure)) if trains else [])
            site = loaders[0] if len(loaders) == 1 else failure.site
            yield Cause(
                "batch normalisation got one value a channel, of a batch of one sample",
                site,
                (Related("fails_at", failure.site),) if site != failure.site else (),
                fails=True,
                certain=False,
                advice="" if trains else "call eval() before the model is given a single sample.",
            )


def _in_a_loop_that_trains(case: Case, failure: Failure) -> bool:
    """Whether a loop around what failed calls backward as well."""
    backwards = {(site.file, site.line) for call in case.backwards() for site in call.stack}
    return any(
        (file, line) in backwards
        for file, loop in _loops(case, failure)
        for line in range(loop.lineno, (loop.end_lineno or 0) + 1)
    )


def _loops(case: Case, failure: Failure) -> Iterator[tuple[str, ast.For | ast.While]]:
    """The loops around what failed, each with its file."""
    for site in failure.stack:
        for node in syntax(case).nodes(site.file) if site.origin is Origin.USER else ():
            if isinstance(node, (ast.For, ast.While)) and node.lineno <= site.line <= (node.end_lineno or node.lineno):
                yield site.file, node


def _cut_up(case: Case, failure: Failure) -> Iterator[Site]:
    """The lines that cut what a loop goes over into batches, `range(0, len(x), size)`: in it, or in what it calls."""
    called = {
        called_name(one)
        for _, loop in _loops(case, failure)
        for one in ast.walk(loop.iter if isinstance(loop, ast.For) else loop.test)
        if isinstance(one, ast.Call)
    }
    for file, loop in _loops(case, failure):
        if isinstance(loop, ast.For) and _by_steps(loop.iter):
            yield syntax(case).site(file, loop.lineno)
    for file in syntax(case).files:
        for function in syntax(case).nodes(file):
            inside = ast.walk(function) if isinstance(function, ast.FunctionDef) and function.name in called else ()
            for one in inside:
                if isinstance(one, ast.For) and _by_steps(one.iter):
                    yield syntax(case).site(file, one.lineno)


def _by_steps(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and called_name(value) == "range" and len(value.args) == _STEPS


def _keeps_the_rest(node: ast.AST) -> bool:
    """`DataLoader(..., shuffle=True)` without drop_last."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "DataLoader":
        return False
    given = {one.arg: one.value for one in node.keywords}
    shuffles = given.get("shuffle")
    shuffled = shuffles is not None and not (isinstance(shuffles, ast.Constant) and not shuffles.value)
    return shuffled and "drop_last" not in given
