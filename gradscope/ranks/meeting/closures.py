"""Steps in which ranks had their closures called unequally often: an optimizer decides by what its own returns."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradscope.model.graph import Backward
from gradscope.model.site import Origin, Site, Stack
from gradscope.model.training import STEP
from gradscope.ranks.core.known import Told
from gradscope.ranks.source.passing import parting
from gradscope.ranks.source.rounds import stacks_after
from gradscope.ranks.source.shared_losses import is_shared
from gradscope.ranks.source.syntax import at_line, function_around, nodes_in, tree_of
from gradscope.store.reader import Recording

_OPTIMIZERS = "torch/optim/"
WHY = "a step called the closures of the ranks unequally often"


@dataclass(frozen=True, slots=True)
class Uneven:
    """A step that called the closures of two ranks unequally often: the line by which these give it their loss, and
    that which calls the step, where one does."""

    returned: Site
    step: Site | None

    @property
    def told(self) -> Told:
        """In words, and the line to edit."""
        return WHY, self.returned


@dataclass(slots=True)
class _Step:
    """A step, with the backward calls in its closure; `over`: the rank has come to something after it."""

    calls: list[Backward]
    over: bool = False


def called_unevenly(here: Recording, there: Recording) -> Uneven | None:
    """The first step of which one rank came to an end after fewer calls of the closure than another one made in it."""
    for ours, theirs in zip(_steps(here), _steps(there), strict=False):
        less, more = sorted((ours, theirs), key=lambda one: len(one.calls))
        if len(less.calls) < len(more.calls):
            recording = there if more is theirs else here
            return _uneven(recording, more.calls[-1].stack) if less.over and less.calls else None
    return None


def _uneven(recording: Recording, stack: Stack) -> Uneven | None:
    """What is told of a step; None where its closure gives it a loss that ranks share: they part by something else."""
    site = _closure(stack)
    if site is None or is_shared(recording, site):
        return None
    return Uneven(_returned(recording, site), _caller(stack))


def _steps(recording: Recording) -> list[_Step]:
    """The steps of a run in order, of all optimizers."""
    calls = {call.number: call for call in recording.backwards()}
    found: list[_Step] = []
    for interval in recording.intervals():
        call = None if interval.backward is None else calls.get(interval.backward)
        inside = call is not None and _closure(call.stack) is not None
        began = sum(one.kind is STEP for one in interval.calls)
        if found and (began or (call is not None and not inside)):
            found[-1].over = True
        found += [_Step([], over=at + 1 < began) for at in range(began)]
        if found and call is not None and inside:
            found[-1].calls.append(call)
    if found and found[-1].calls:
        found[-1].over |= _has_gone_on(recording, found[-1].calls[-1])
    return found


def _has_gone_on(recording: Recording, last: Backward) -> bool:
    """Whether, after the last call of a closure, something ran under the caller of the step, at another line of it: as
    a rank is ahead of one that is in the step yet, and came to no backward after it."""
    caller = _caller(last.stack)
    if caller is None or last.number != len(recording.backwards()) - 1:
        return False
    parted = (parting(last.stack, stack) for stack in stacks_after(recording, last.number))
    outside = {str(site) for site in last.stack[last.stack.index(caller) :]}
    return any(one is not None and str(one[0]) in outside for one in parted)


def _caller(stack: Stack) -> Site | None:
    """The user's line that called the step in which a closure runs."""
    site = _closure(stack)
    around = stack[stack.index(site) + 1 :] if site is not None else ()
    return next((one for one in around if one.origin is Origin.USER), None)


def _closure(stack: Stack) -> Site | None:
    """The user's frame that an optimizer called, innermost of those."""
    found: Site | None = None
    for site in stack:
        if site.origin is Origin.USER:
            found = site
        elif _OPTIMIZERS in site.file:
            return found
    return None


def _returned(recording: Recording, site: Site) -> Site:
    """The last line by which a closure gives its loss to the optimizer."""
    function = function_around(tree_of(recording, site), site.line)
    if function is None:
        return site
    lines = [node.lineno for node in nodes_in(function) if isinstance(node, ast.Return) and node.value is not None]
    return at_line(recording, site, max(lines)) if lines else site
