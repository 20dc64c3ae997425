"""Finds penalties on gradients that no loss contains: of grad(create_graph=True) only a number is read."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow, leaves_torch
from gradscope.explain.evidence.source_names import carries, function_at, targets
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Backward
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site, Stack

_TIMES = 3  # calls that were seen, and what lies between them: alike steps are recorded no more often
_SHARE = 2  # of the steps, at least one in so many has it: what is measured now and then is to be seen
_MEASURES = re.compile(r"eval|valid|test|measur|monitor|log|report|diagnos|metric|inspect|plot|show|check")


@dataclass(frozen=True, slots=True)
class UnusedSlope:
    """Where the last number is made that gradients with a graph go into, and the line of the loss that lacks it."""

    made: Site
    loss: Site


def unused_slopes(case: Case) -> Iterator[UnusedSlope]:
    """One for each line that asks for gradients with a graph in each step, of which none goes into a loss."""
    asked: dict[Stack, list[Backward]] = defaultdict(list)
    for call in case.backwards():
        if call.kind == "grad" and call.create_graph and call.nested_in is None:
            asked[call.stack].append(call)
    steps = [call.number for call in case.backwards() if call.kind == "backward"]
    lines = defaultdict[Site | None, list[Stack]](list)
    for stack, calls in asked.items():
        lines[calls[0].site].append(stack)
    for site, stacks in lines.items():
        calls = [call for stack in stacks for call in asked[stack]]
        reached = {bisect_right(steps, call.number) for call in calls}
        is_measured = any(_MEASURES.search(one.function.lower()) for stack in stacks for one in _own(stack))
        if site is not None and len(stacks) == 1 and not is_measured and len(reached) * _SHARE >= len(steps) > 0:
            yield from _unused(case, calls, steps)


def _unused(case: Case, calls: list[Backward], steps: list[int]) -> Iterator[UnusedSlope]:
    flow = dataflow(case)
    slopes = _Slopes(flow)
    terms = [slopes.term(call.number) for call in calls if call.number in slopes.runs]
    seen = [first.number for first, second in pairwise(calls) if slopes.is_whole(first.number, second.number)]
    if len(terms) < _TIMES or len(seen) < _TIMES - 1 or None in terms:
        return
    roots = {root.backward: root.tensor for root in flow.roots if root.requires_grad}
    for number in seen:
        following = bisect_right(steps, number)
        root = roots.get(steps[following]) if following < len(steps) else None
        made = None if root is None else flow.maker(root, len(flow.operations))
        term = slopes.term(number)
        if made is not None and term is not None and flow.operations[made].backward is None:
            loss = _loss_line(case, flow.operations[term].operation.stack, flow.operations[made].operation.stack)
            site = flow.operations[term].site
            if site is not None and loss is not None:
                yield UnusedSlope(site, loss)
                return


class _Slopes:
    """What becomes of what gradient calls give."""

    def __init__(self, flow: RecordedDataflow) -> None:
        self._flow = flow
        self.runs: dict[int, int] = {}  # by the number of a backward call
        self._makes: dict[int, set[int]] = defaultdict(set)
        for operation in flow.operations:
            if operation.backward is not None:
                self.runs[operation.backward] = operation.run
                self._makes[operation.backward].update(operation.makes)
        self._seen = {operation.run for operation in flow.operations}

    def is_whole(self, first: int, second: int) -> bool:
        """Whether all that ran from one call to another was recorded."""
        if first not in self.runs or second not in self.runs:
            return False
        return all(run in self._seen for run in range(self.runs[first], self.runs[second] + 1))

    def term(self, number: int) -> int | None:
        """The last operator that makes a number with a graph of what a call gives.

        None where it may be more than looked at: where it goes into a loss or another tensor, is kept as a whole, or
        comes back as a number of Python.
        """
        flow, last = self._flow, None
        waiting = list(self._makes[number])
        if not flow.useful.isdisjoint(waiting):
            return None
        seen = set(waiting)
        while waiting:
            tensor = waiting.pop()
            for at in flow.readers.get(tensor, ()):
                operation = flow.operations[at]
                if operation.backward is not None:
                    continue
                if not self._is_looked_at(at, operation, seen):
                    return None
                last = max(at, last or 0) if self._is_number(operation) else last
                waiting += [made for made in operation.makes if made not in seen]
                seen.update(operation.makes)
        return last

    def _is_looked_at(self, at: int, operation: FlowOperation, seen: set[int]) -> bool:
        """Whether what an operator makes is new, goes into no loss, and is a number where nothing reads it."""
        flow = self._flow
        if leaves_torch(operation):
            return not flow.comes_back(at) and not any(flow.shape(one.tensor) for one in operation.reads)
        if any(one.tensor in operation.makes and one.tensor not in seen for one in operation.reads):
            return False
        return bool(operation.makes) and all(
            made not in flow.useful and (not flow.shape(made) or flow.readers.get(made)) for made in operation.makes
        )

    def _is_number(self, operation: FlowOperation) -> bool:
        is_kept = base_name(operation.operation.name) in ("detach", "alias") or not operation.operation.grad
        learned = not is_kept and any(one.requires_grad for one in operation.reads)
        return learned and len(operation.makes) == 1 and not self._flow.shape(operation.makes[0])


def _own(stack: Stack) -> list[Site]:
    """The program's frames, the outermost first."""
    return [site for site in reversed(stack) if site.origin is Origin.USER]


def _loss_line(case: Case, term: Stack, loss: Stack) -> Site | None:
    """The line of a loss, in the innermost function that computes both: where it is returned, else where it is made."""
    found = None
    for one, other in zip(_own(term), _own(loss), strict=False):
        if not one.is_in_function_of(other):
            break
        found = _returned(case, one, other)
        if one != other:
            break
    return found


def _returned(case: Case, term: Site, loss: Site) -> Site:
    """The only line below that returns what the line of the loss makes; else this."""
    scope, statement = function_at(case, loss) or (None, None)
    if scope is None or statement is None or isinstance(scope, ast.Module):
        return loss
    names = targets(statement)
    returned = [one for one in ast.walk(scope) if isinstance(one, ast.Return) and carries(one.value, names)]
    if len(returned) != 1 or returned[0].lineno < max(term.line, loss.line):
        return loss
    return syntax(case).site(loss.file, returned[0].lineno, loss.function)
