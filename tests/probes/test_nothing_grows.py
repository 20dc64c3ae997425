"""Over a long run nothing grows that a recorder holds which keeps the last steps, begins new files, or waits."""

from __future__ import annotations

import gc
from collections import Counter, deque
from functools import partial
from types import FunctionType, MethodType

import pytest
import torch

from gradscope.arming.armed import Armed
from gradscope.arming.rotation import Rotation
from gradscope.capture import Recorder
from gradscope.model.detail import Detail
from gradscope.model.limits import Limits
from gradscope.model.request import RecordRequest
from gradscope.model.window import Window
from tests.arming.armed_run import own_channels

SOME, MORE = 300, 500  # steps: what is bounded is full after some
SLACK = 8  # elements that a container may have more: sampled steps are rare, but there are some
WAITING = "Writer._rows"  # to be written: how much that is, is a matter of time
CONTAINERS = (list, tuple, set, frozenset, deque)


def whole(path):
    return Recorder(path, Detail.OPS, Window(keep=10))


def bounded(path):
    return Recorder(path, Detail.OPS, Window(), Limits(size=1_000_000))


def rotated(path):
    return Rotation(partial(Recorder, detail=Detail.OPS), path, 50, 2)


def armed(path):
    return Armed(Recorder, path, RecordRequest())


def children(one):
    """What an object of ours, or a container, holds, each with the name of its place."""
    if isinstance(one, dict):
        return [("[]", value) for pair in list(one.items()) for value in pair]
    if isinstance(one, CONTAINERS):
        return [("[]", value) for value in list(one)]
    if isinstance(one, MethodType):
        return [("", one.__self__)]
    if isinstance(one, FunctionType):
        return [("()", cell.cell_contents) for cell in one.__closure__ or () if cell != type(cell)()]
    if not type(one).__module__.startswith("gradscope.") or isinstance(one, type):
        return []
    slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [*slots, *getattr(one, "__dict__", {})]
    return [(f"{type(one).__name__}.{name}", getattr(one, name)) for name in names if hasattr(one, name)]


def sizes(root):
    """How many elements containers have, by the attribute that they hang on, and how many objects of ours there are."""
    found, seen, waiting = Counter(), set(), [("", root)]
    while waiting:
        place, one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, (dict, *CONTAINERS)):
            found[place] += len(one)
        elif type(one).__module__.startswith("gradscope."):
            found[type(one).__name__] += 1
        waiting += [(name if "." in name else f"{place}{name}", child) for name, child in children(one)]
    return found


def train(steps, weight, first):
    for step in range(first, steps):
        (weight * torch.ones(step % 7 + 1, 3)).square().sum().backward()
        with torch.no_grad():
            weight -= 1e-6 * weight.grad
        weight.grad = None


@pytest.mark.parametrize("make", [whole, bounded, rotated, armed])
def test_nothing_grows(make, tmp_path, monkeypatch):
    with own_channels(monkeypatch):
        recorder = make(tmp_path / "run.gscope")
        recorder.start()
        weight = torch.ones(3, requires_grad=True)
        found = []
        for first, end in ((0, SOME), (SOME, MORE)):  # one line calls both: another one has stacks of its own
            train(end, weight, first)
            gc.collect()
            found.append(sizes(recorder))
        recorder.stop()
    before, after = found
    assert before
    more = {place: (before[place], count) for place, count in after.items() if count > before[place] + SLACK}
    grown = {place: counts for place, counts in more.items() if not place.startswith(WAITING)}
    assert not grown


def test_the_walk_finds_what_grows():
    counts = Counter(step="many")
    assert sizes([counts, [1, 2, 3]])["[]"] == 4
