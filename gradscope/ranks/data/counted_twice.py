"""GS769: samples by which a DistributedSampler fills up its parts, and that an evaluation counts twice."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from pathlib import Path

from gradscope.functions.source import called_name, is_attribute_of
from gradscope.model.graph import Backward
from gradscope.model.operation import Operation
from gradscope.model.site import Site
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.data.wrapped import wrapped_share
from gradscope.ranks.gradients.doubled import SUMS, sum_on
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording, load

_SAMPLER = "DistributedSampler"
_TENSORS, _OF_TORCH = "TensorDataset", "torch/utils/data/dataset.py"
_SIZES = ("len", "size")


@dataclass(frozen=True, slots=True)
class _Samples:
    """Samples that tensors hold: the lines of a file that give one, all of torch's where there are none, and how many
    there may be."""

    file: str
    gives: range | None
    numbers: frozenset[int]

    def are_given_by(self, one: Operation) -> bool:
        """Whether an operator gives a part of a sample, without gradients."""
        if one.grad or one.site is None:
            return False
        if self.gives is None:
            return one.stack[0].file.endswith(self.file)
        return one.site.file == self.file and one.site.line in self.gives


@dataclass(slots=True)
class _Pass:
    """What ran without gradients between two backward calls: how often operators gave samples, by line and name, and
    where something was summed over the ranks then."""

    given: Counter[tuple[int, str]] = field(default_factory=Counter)
    summed: Site | None = None


def counted_twice(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        An evaluation of samples that a DistributedSampler shares, whose number the ranks do not divide, and whose
        results are summed over the ranks.
    Why:
        The sampler gives all ranks equally many: it fills up the last ones by the first samples again. A sum over the
        ranks counts those twice, so that the score is not that of the data, and changes with the number of ranks.
    Wrong:
        loader = DataLoader(validation, batch_size=8, sampler=DistributedSampler(validation, shuffle=False))
    Right:
        mine = range(rank, len(validation), world_size)
        loader = DataLoader(validation, batch_size=8, sampler=mine)
    Do instead:
        Share samples that are scored by range(rank, len(data), world_size), or leave out what is there again.
    How it is found:
        A hint. Samples of a TensorDataset, or of a class whose length is that of a tensor which its __init__ makes;
        between two backward calls, the ranks took as many of them without gradients as such a sampler gives each, which
        is neither the share without those that are left over nor all of them; a sum over ranks followed. The line is
        that of the DistributedSampler without drop_last=True that the program makes. So is an index of a rank modulo
        the length of a list, where the source tells how long that is, and a function goes through what comes of it that
        summed over the ranks and calls no backward.
    """
    if len(ranks.ranks) < 2:
        return
    with ExitStack() as files:
        recordings = [files.enter_context(load(Path(one.path))) for one in (ranks.ranks[0], ranks.ranks[-1])]
        sampler = _sampler(recordings[0])
        for samples in chain(_classes(recordings[0]), _tensors(recordings[0])) if sampler is not None else ():
            found = _filled_up(recordings, samples, len(ranks.ranks))
            if found is not None:
                number, share = found
                yield Blame(
                    f"an evaluation of {number:,} samples is shared by {len(ranks.ranks):,} ranks, and each is given "
                    f"{share:,}: what is there twice counts twice in the sum over the ranks",
                    sampler,
                    meant=True,
                )
                return
        for site, number in wrapped_share(ranks, recordings[0]):
            yield Blame(
                f"an evaluation of {number:,} samples is shared by {len(ranks.ranks):,} ranks, and the last share "
                "begins again at the first: what is there twice counts twice in the sum over the ranks",
                site,
                meant=True,
            )
            return


def _sampler(recording: Recording) -> Site | None:
    """The line that makes a sampler which fills up: of several the one that does not shuffle."""
    calls = [
        (file, call, {one.arg: ast.unparse(one.value) for one in call.keywords})
        for file, _, call in calls_of(recording, _SAMPLER)
    ]
    calls = [one for one in calls if one[2].get("drop_last", "False") == "False"]
    if len(calls) > 1:
        calls = [one for one in calls if one[2].get("shuffle") == "False"]
    if len(calls) != 1:
        return None
    file, call, _ = calls[0]
    return at_line(recording, Site(file, call.lineno), call.lineno)


def _classes(recording: Recording) -> Iterator[_Samples]:
    for file in sorted(recording.sources()):
        for node in (one for one in nodes_of(tree_of(recording, Site(file, 1))) if isinstance(one, ast.ClassDef)):
            methods = {one.name: one for one in node.body if isinstance(one, Function)}
            if {"__init__", "__len__", "__getitem__"} <= methods.keys():
                held = _measured(methods["__len__"])
                lines = _set(methods["__init__"], held) if held else set()
                numbers = frozenset(_numbers(recording, file, lines)) if lines else frozenset()
                if numbers:
                    yield _Samples(file, _lines(methods["__getitem__"]), numbers)


def _tensors(recording: Recording) -> Iterator[_Samples]:
    """Those of a TensorDataset: the lines of a function bind what one is given."""
    for file, tree, call in calls_of(recording, _TENSORS):
        function = function_around(tree, call.lineno)
        names = {one.id for given in call.args for one in ast.walk(given) if isinstance(one, ast.Name)}
        assigned = [] if function is None else [one for one in ast.walk(function) if isinstance(one, ast.Assign)]
        lines = {
            one.lineno for one in assigned for target in one.targets for each in ast.walk(target) if _is(each, names)
        }
        numbers = frozenset(_numbers(recording, file, lines | {call.lineno}))
        if numbers:
            yield _Samples(_OF_TORCH, None, numbers)


def _is(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _measured(method: Function) -> str | None:
    """The attribute whose length a method returns."""
    returned = [node.value for node in ast.walk(method) if isinstance(node, ast.Return)]
    value = returned[0] if len(returned) == 1 else None
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Attribute) and value.value.attr == "shape":
        value = value.value.value
    elif isinstance(value, ast.Call) and called_name(value) in _SIZES:
        value = value.func.value if isinstance(value.func, ast.Attribute) else value.args[0]
    return value.attr if isinstance(value, ast.Attribute) and is_attribute_of(value, "self") else None


def _set(method: Function, name: str) -> set[int]:
    """The lines of a method that assign an attribute."""
    assigned = (node for node in ast.walk(method) if isinstance(node, ast.Assign))
    return {node.lineno for node in assigned if any(f"self.{name}" == ast.unparse(one) for one in node.targets)}


def _numbers(recording: Recording, file: str, lines: set[int]) -> Iterator[int]:
    """How many rows the tensors have that some lines made."""
    rows = {one.number: one.type.shape[0] for one in recording.flow_tensors() if one.type.shape}
    for one in recording.flow():
        if one.site is not None and one.site.file == file and one.site.line in lines:
            yield from (rows[made] for made in one.makes if made in rows)


def _filled_up(recordings: list[Recording], samples: _Samples, world: int) -> tuple[int, int] | None:
    """The number of samples and a rank's share of them, where a pass filled that up, and a sum followed."""
    first, last = (_passes(recording, samples) for recording in recordings)
    for key in sorted(first.keys() & last.keys()):
        one, other = first[key], last[key]
        if not one.given or one.given != other.given or one.summed is None:
            continue
        for number in sorted(samples.numbers):
            share = -(-number // world)
            others = [each for each in (number, number // world) if each]  # of a number that divides: the share
            if _is_times(one, share) and not any(_is_times(one, each) for each in others):
                return number, share
    return None


def _is_times(one: _Pass, number: int) -> bool:
    """Whether a pass may have taken so many samples, once or several times."""
    return all(times % number == 0 for times in one.given.values())


def _passes(recording: Recording, samples: _Samples) -> dict[int, _Pass]:
    """By the number of backward calls that had begun before."""
    calls: dict[int, list[Backward]] = defaultdict(list)
    for call in recording.backwards():
        calls[call.thread].append(call)
    found: dict[int, _Pass] = defaultdict(_Pass)
    for block in recording.blocks():
        if block.backward is not None:
            continue
        at = found[bisect_right(calls[block.thread], block.started, key=attrgetter("started"))]
        for one in block.operations:
            site = one.site
            if site is not None and samples.are_given_by(one):
                at.given[site.line, one.name] += 1
            elif site is not None and at.given and one.name.startswith(SUMS) and _is_sum(recording, site):
                at.summed = at.summed or site
    return found


def _is_sum(recording: Recording, site: Site) -> bool:
    function = function_around(tree_of(recording, site), site.line)
    return function is not None and sum_on(function, site.line) is not None


def _lines(function: Function) -> range:
    return range(function.lineno, (function.end_lineno or function.lineno) + 1)
