"""GS814: a batch of one sample, for which batch normalisation has nothing to normalise by."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.site import Origin

_REFUSED = "Expected more than 1 value per channel when training"
_ONE = "torch.Size([1,"


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
    that makes a DataLoader which shuffles and keeps its last batch; else it is the one that failed, and the model was
    to be evaluated.
    """
    for failure in case.failures():
        if _REFUSED in failure.message and _ONE in failure.message:
            trains = _in_a_loop_that_trains(case, failure)
            loaders = list(syntax(case).everywhere(_keeps_the_rest)) if trains else []
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
    loops = (
        (site.file, node)
        for site in failure.stack
        if site.origin is Origin.USER
        for node in syntax(case).nodes(site.file)
        if isinstance(node, (ast.For, ast.While)) and node.lineno <= site.line <= (node.end_lineno or node.lineno)
    )
    return any(
        (file, line) in backwards for file, loop in loops for line in range(loop.lineno, (loop.end_lineno or 0) + 1)
    )


def _keeps_the_rest(node: ast.AST) -> bool:
    """`DataLoader(..., shuffle=True)` without drop_last."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "DataLoader":
        return False
    given = {one.arg: one.value for one in node.keywords}
    shuffles = given.get("shuffle")
    shuffled = shuffles is not None and not (isinstance(shuffles, ast.Constant) and not shuffles.value)
    return shuffled and "drop_last" not in given
