"""GS825: an autocast context that stays open across steps, so that what is computed with is older than the weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, is_optimizer
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.explain.evidence.words import several
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.model.training import AUTOCAST, STEP, TrainingCall

_COPIES = ("_to_copy",)
_DECORATED, _AUTOCAST = "decorate_autocast", "autocast"


def stale_weights(case: Case) -> Iterator[Cause]:
    """What it flags: weights that autocast copied before a step, and that are computed with after it.

    Why: autocast keeps the copies that it makes of weights in a lower precision until its context is left. Where that
    stays open around several steps, they change the weights and each forward computes with the copies of the first.
    The gradients belong to weights that are not there any more; the loss stays, or grows.

    Wrong:
        with torch.autocast("cpu", torch.bfloat16):
            for x, y in loader:
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()

    Right:
        for x, y in loader:
            with torch.autocast("cpu", torch.bfloat16):
                loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()

    Do instead: enter autocast for the forward and the loss, in each step, or pass cache_enabled=False.

    How it is found: the copy of a weight that was made before an optimizer wrote into the weight is read by an operator
    after that, and no autocast was entered in between.
    """
    opened = opened_across_steps(case)
    names, step = stale_copies(dataflow(case))
    if opened is not None and names:
        yield Cause(
            f"forwards compute with {several(names)} as before the first step: autocast keeps copies of weights until "
            "this context is left",
            opened,
            (Related("called_at", step, "changes the weights and not their copies"),),
            tensor=names[0],
            weight=len(names),
        )


def opened_across_steps(case: Case) -> Site | None:
    """Where an autocast context was entered around which no other stands, and that was open over a step."""
    for timeline in timelines(case):
        steps = [at for at, _ in timeline.of(STEP)]
        contexts = [(at, call) for at, call in timeline.of(AUTOCAST) if call.total]
        for first, second in pairwise(steps):
            if not any(first < at < second for at, _ in contexts):
                opened = [call for at, call in contexts if at < first]
                if opened and opened[-1].count:
                    return decorator_of(case, opened[-1]) or opened[-1].site
    return None


def decorator_of(case: Case, call: TrainingCall) -> Site | None:
    """The only decorator that enters autocast, where a decorated function was called."""
    if not any(site.function == _DECORATED for site in call.stack):
        return None
    found = [
        syntax(case).site(file, decorator.lineno)
        for file in syntax(case).files
        for node in syntax(case).nodes(file)
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and _AUTOCAST in last_name(decorator.func)
    ]
    return found[0] if len(found) == 1 else None


def stale_copies(flow: RecordedDataflow) -> tuple[list[str], Site | None]:
    """The leaves whose copies were read after a step had changed them, and the step's line."""
    names, step = list[str](), None
    for at, operation in enumerate(flow.operations):
        if base_name(operation.operation.name) not in _COPIES or not flow.reads_learned(at):
            continue
        (read,) = operation.reads[:1]
        write = next((one for one in flow.makers[read.tensor] if one > at and is_optimizer(flow.operations[one])), None)
        name = flow.tensors[read.tensor].leaf if read.leaf and read.tensor in flow.tensors else None
        if name is None or write is None or name in names:
            continue
        if any(_computes(flow, reader, write) for made in operation.makes for reader in flow.readers[made]):
            names.append(name)
            step = step or flow.operations[write].site
    return names, step


def _computes(flow: RecordedDataflow, reader: int, write: int) -> bool:
    """Whether an operator of a forward reads a copy after the weight was written."""
    return reader > write and flow.operations[reader].backward is None and flow.operations[reader].operation.grad
