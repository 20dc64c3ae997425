"""Losses that are made of numbers alone, as where a branch returns torch.tensor(0.0) for a batch without positives.

Nothing was cut there: no value left a graph on its way to them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.frozen_losses import freezing_lines
from gradscope.explain.deductions.lines.graph_cuts import CUT, MissingGradient, Reason
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, names_in
from gradscope.model.graph import Backward
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site

_ADVICE = "make it of what the model gave, as 0.0 * output.sum() does; or leave the backward out for such a batch"
_GIVEN = ("tensor", "as_tensor", "asarray", "scalar_tensor", "from_numpy", "Tensor", "FloatTensor")
_NUMBERS = ("lift_fresh", "zeros", "ones", "full", "scalar_tensor", "zeros_like", "ones_like", "new_zeros")


def loss_of_numbers(case: Case, roots: list[int], learned: list[int]) -> MissingGradient | None:
    """The line that makes all of a loss of numbers; `learned`: the operators of its forward that had a graph."""
    flow = dataflow(case)
    lines = [line for root in roots for line in _begun_at(flow, root)]
    if not lines or any(line is None for line in lines):
        return None
    last = lines[-1]
    if last is None or any(flow.operations[at].site == last for at in learned):
        return None  # a line that computes on: what it is given was cut
    if not _are_written_there(case, last):
        return None  # values that were handed around outside of torch
    return _made_of_numbers(last)


def _made_of_numbers(line: Site, certain: bool = True) -> MissingGradient:
    return MissingGradient(CUT, Reason.NUMBERS_ALONE, Cause("", line, certain=certain, advice=_ADVICE))


def late_loss_of_numbers(case: Case, call: Backward) -> MissingGradient | None:
    """The same where the tensors of a late step were not followed: the line never ran before a backward that had a
    graph; or what was added there to the name that it begins was not, this time."""
    before = {one.started for one in case.backwards() if one.site == call.site and one.number < call.number}
    blocks = [one for one in case.blocks() if one.backward is None and one.thread == call.thread]
    blocks = [one for one in blocks if one.started <= call.started]
    if not before or not blocks or freezing_lines(case):
        return None
    then = {one.site for block in blocks[:-1] for one in block.operations if one.site is not None}
    line = next(_begun_now(case, blocks[-1].operations, then), None)
    return None if line is None else _made_of_numbers(line, certain=False)


def _begun_now(case: Case, operations: Sequence[Operation], then: set[Site]) -> Iterator[Site]:
    """The lines that make numbers of which nothing else became than these, the last first; `then`: what ran before."""
    left_out = then - {one.site for one in operations}
    for one in reversed(operations):
        site = one.site if base_name(one.name) in _NUMBERS else None
        if site is None or not _are_written_there(case, site):
            continue
        if site not in then or any(_goes_on(case, site, other) for other in left_out):
            yield site


def _goes_on(case: Case, begun: Site, site: Site) -> bool:
    """Whether a line gives a name anew, from itself, that another one begins."""
    first, following = syntax(case).statement(begun), syntax(case).statement(site)
    if begun.file != site.file or not isinstance(first, ast.Assign):
        return False
    name = first.targets[0]
    if not isinstance(name, ast.Name):
        return False
    if isinstance(following, ast.AugAssign):
        return isinstance(following.target, ast.Name) and following.target.id == name.id
    if not isinstance(following, ast.Assign) or syntax(case).function(site) is not syntax(case).function(begun):
        return False
    given = following.targets[0]
    return isinstance(given, ast.Name) and given.id == name.id and name.id in names_in(following.value)


def _are_written_there(case: Case, line: Site) -> bool:
    """Whether each torch.tensor() of a line is given a number that stands there."""
    statement = syntax(case).statement(line)
    if statement is None:
        return False
    made = [one for one in ast.walk(statement) if isinstance(one, ast.Call) and called_name(one) in _GIVEN]
    return all(one.args and isinstance(one.args[0], ast.Constant) for one in made)


def _begun_at(flow: RecordedDataflow, root: int) -> Iterator[Site | None]:
    """The lines of the numbers that a tensor is made of; None for what it is made of else."""
    seen, waiting = set[int](), [(root, len(flow.operations))]
    while waiting:
        tensor, before = waiting.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        makers = list(flow.sources(tensor, before))
        if not makers:
            yield None
        for at in makers:
            operation = flow.operations[at]
            read = [one.tensor for one in operation.reads if one.tensor not in operation.makes]
            if base_name(operation.operation.name) in _NUMBERS:
                yield operation.site
            elif not read:
                yield None
            waiting += [(one, at) for one in read]
