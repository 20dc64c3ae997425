"""GS747: weights of classes that cancel out, as the loss divides by the weight of the one sample that it is given."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.module_builds import built_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_TIMES = 2  # watched: losses that are computed alike are not looked at again and again
_LOSSES = ("CrossEntropyLoss", "NLLLoss", "cross_entropy", "nll_loss")
_OTHERS = ("reduction", "label_smoothing", "size_average", "reduce", None)  # None: **settings, which may hold each
_ALIKE = ("ones", "ones_like", "full", "full_like", "new_ones", "new_full")


def weights_cancelled(case: Case) -> Iterator[Cause]:
    """What it flags: a cross entropy with weights of classes that is given one sample at a time.

    Why: its mean is divided by the sum of the weights of the batch. With one sample that is the weight by which the
    loss was multiplied: they cancel, and rare classes count as much as all others.

    Wrong:
        for x, y in zip(xs, ys):
            loss = loss + cross_entropy(net(x[None]), y[None], weight=weights)

    Right:
        for x, y in zip(xs, ys):
            loss = loss + cross_entropy(net(x[None]), y[None], weight=weights, reduction="sum")

    Do instead: give the loss a batch of several samples, or say reduction="sum" and divide by what you want.

    How it is found: each time that a line computed the loss and was watched, twice or more, what it read had one row,
    and weights that were not made alike; and the program gives no such loss another reduction, or label smoothing. A
    hint.
    """
    flow = dataflow(case)
    alone: Counter[Site] = Counter()
    losses: dict[Site, FlowOperation] = {}
    batches: set[Site] = set()
    for at, operation in enumerate(flow.operations):
        site, learned = operation.site, bool(operation.reads) and operation.reads[0].requires_grad
        if site is not None and learned and base_name(operation.operation.name) == "nll_loss_forward":
            if _is_weighted_alone(flow, at, operation):
                alone[site] += 1
                losses[site] = operation
            else:
                batches.add(site)
    chosen = {site: count for site, count in alone.items() if count >= _TIMES and site not in batches}
    for site in chosen if chosen and not _reduces_otherwise(case) else ():
        place = built_at(case, losses[site].operation.module) or _built(case, losses[site]) or site
        yield Cause(
            "this loss is divided by the weight of the one sample that it is given: the weights of classes cancel out",
            place,
            (Related("called_at", site, "one sample"),) if place != site else (),
            certain=False,
            op=losses[site].operation.name,
        )


def _built(case: Case, loss: FlowOperation) -> Site | None:
    """The only line that builds such a loss with weights, where a module computed it that no model holds."""
    if not any(one.origin is Origin.TORCH and one.file.endswith("loss.py") for one in loss.operation.stack):
        return None
    found = {site for file in syntax(case).files for site in syntax(case).calls(file, _builds)}
    return found.pop() if len(found) == 1 else None


def _builds(node: ast.AST) -> bool:
    is_loss = isinstance(node, ast.Call) and called_name(node) in _LOSSES[:2]
    return is_loss and isinstance(node, ast.Call) and bool(node.args or node.keywords)


def _is_weighted_alone(flow: RecordedDataflow, at: int, loss: FlowOperation) -> bool:
    """Whether a loss is the mean over one sample, with a weight for each of several classes."""
    if len(loss.reads) != 3 or not loss.makes or flow.shape(loss.makes[0]):
        return False
    scores, weights = (flow.shape(loss.reads[place].tensor) for place in (0, 2))
    made = flow.maker(loss.reads[2].tensor, at)
    is_alike = made is not None and base_name(flow.operations[made].operation.name) in _ALIKE
    return scores in ((1, *weights), weights) and weights > (1,) and not is_alike


def _reduces_otherwise(case: Case) -> bool:
    """Whether the program gives such a loss a reduction of its own, or smooth labels, where weights do not cancel."""
    return any(
        isinstance(node, ast.Call) and called_name(node) in _LOSSES and any(one.arg in _OTHERS for one in node.keywords)
        for file in syntax(case).files
        for node in syntax(case).nodes(file)
    )
