"""GS787: epochs that go through the samples in one and the same order."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from gradscope.functions.source import called_name, is_attribute_of, last_name
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.data.untold_epochs import goes_by, told_of, untold
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.syntax import Loop, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording, load

_SAMPLER = "DistributedSampler"
_DRAWS = "aten.randperm"
_DRAWN_IN = "torch/utils/data/distributed.py"
_NUMBERS, _LOADS_IN = "aten.random_", "torch/utils/data/dataloader.py"  # a loader draws a number for each epoch
_TELLS = "set_epoch"
_INSTEAD = ", but that of what a loader has by itself, which has none"
_COUNTS = frozenset(("range", "trange", "count"))
_PASSES_ON = "/tqdm/"  # a library that goes through a loader and leaves it alone
_MOST = 64  # files: where there are more, some may not be kept
_TWICE = 2


def same_order(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Epochs of a training in which a DistributedSampler, or a sampler of the program's own that goes by the number of
        the epoch, gives the samples in one and the same order, since nobody calls its set_epoch().
    Why:
        It shuffles by its seed and the number of the epoch, so that all ranks do it alike. Where it is not told the
        number, each epoch has the batches of the first; one that is cut short never comes to the other samples.
    Wrong:
        for epoch in range(epochs):
            for x, y in loader:
    Right:
        for epoch in range(epochs):
            sampler.set_epoch(epoch)
            for x, y in loader:
    Do instead:
        Call set_epoch(epoch) of the sampler before each epoch.
    How it is found:
        A DistributedSampler of torch's own shuffled at least twice for one loop of the program's over a loader, in
        which backwards are called, and which stands in a loop that counts. The program names no set_epoch but that of a
        loader's sampler to which it gives none, sets no epoch of another object, and makes the sampler in no loop and
        in no function that one calls. Or the loop is over a loader that is given an object of a class which seeds what
        it draws by a number that one method alone sets, and this method is not called so either. Silent where
        another library goes through the loader, which may tell it. The line is that which takes the other sampler, else
        that of the loop over the epochs.
    """
    if len(ranks.ranks) < _TWICE:
        return
    with load(Path(ranks.ranks[0].path)) as recording:
        trees = {file: tree_of(recording, Site(file, 1)) for file in recording.sources()}
        if len(trees) < _MOST:
            yield from islice(chain(_of_torch(recording, trees), _of_its_own(recording, trees)), 1)


def _of_torch(recording: Recording, trees: dict[str, ast.Module]) -> Iterator[Blame]:
    """Those in which torch's sampler is not told, or something else in its place."""
    places = told_of(recording, trees, _TELLS)
    if places is None or _may_be_told(trees) or not _is_made_once(trees):
        return
    for stack, times in _draws(recording, _DRAWS, _DRAWN_IN).items():
        site = _epochs(recording, stack) if times >= _TWICE else None
        if site is not None:
            yield Blame(
                f"a {_SAMPLER} gives the samples in the same order in all of {times:,} epochs: its set_epoch() is not "
                f"called{_INSTEAD * bool(places)}",
                next(iter(places), site),
                certain=False,
            )


def _of_its_own(recording: Recording, trees: dict[str, ast.Module]) -> Iterator[Blame]:
    """Those in which a sampler of the program's is not told."""
    for one in untold(recording, trees):
        for stack, times in _draws(recording, _NUMBERS, _LOADS_IN).items():
            site = _epochs(recording, stack, one.what.name) if times >= _TWICE else None
            if site is not None:
                yield Blame(
                    f"a {one.what.name} gives the samples in the same order in all of {times:,} epochs: its "
                    f"{one.what.method}() is not called{_INSTEAD * (one.instead is not None)}",
                    one.instead or site,
                    certain=False,
                )


def _may_be_told(trees: dict[str, ast.Module]) -> bool:
    """Whether a program may tell a sampler the epoch, or has a sampler of its own."""
    nodes = [node for tree in trees.values() for node in nodes_of(tree)]
    stored = (node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    classes = (node for node in nodes if isinstance(node, ast.ClassDef))
    return any(one.attr == "epoch" and not is_attribute_of(one, "self") for one in stored) or any(
        last_name(base).endswith(_SAMPLER) for one in classes for base in one.bases
    )


def _is_made_once(trees: dict[str, ast.Module]) -> bool:
    """Whether a program makes samplers that shuffle, and none in a loop or in what one calls: those may have other
    seeds."""
    made = [
        (file, node)
        for file, tree in trees.items()
        for node in nodes_of(tree)
        if isinstance(node, ast.Call) and called_name(node) == _SAMPLER
    ]
    repeated = set().union(*map(_in_loops, trees.values()))
    names = {called_name(node) for node in repeated}
    while True:
        bodies = [node for tree in trees.values() for node in nodes_of(tree) if getattr(node, "name", None) in names]
        more = {called_name(node) for body in bodies for node in ast.walk(body) if isinstance(node, ast.Call)}
        if more <= names:
            break
        names |= more
    return bool(made) and _SAMPLER not in names


def _in_loops(tree: ast.Module) -> set[ast.Call]:
    """The calls that may be made several times by one line."""
    around = (*Loop.__args__, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    loops = [node for node in nodes_of(tree) if isinstance(node, around)]
    return {node for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Call)}


def _draws(recording: Recording, operator: str, file: str) -> Counter[Stack]:
    """How often a file of torch's drew by an operator, by the stack."""
    return Counter(
        one.stack
        for block in recording.blocks()
        for one in block.operations
        if one.name.startswith(operator) and one.stack and one.stack[0].file.endswith(file)
    )


def _epochs(recording: Recording, stack: Stack, by: str | None = None) -> Site | None:
    """The loop that counts epochs, around a loop over a loader that a stack goes through and that trains; `by`: the
    class of what the loader goes by."""
    passed = [site for site in stack[: next(_users(stack), 0)] if site.origin is not Origin.TORCH]
    frames = frames_of(recording, stack)
    if not frames or any(_PASSES_ON not in site.file for site in passed):
        return None
    inner = next((one for one in _loops(frames[0]) if one.lineno == frames[0].site.line), None)
    if not isinstance(inner, ast.For) or not _trains(recording, frames[0].site, inner):
        return None
    if by is not None and not goes_by(recording, frames, inner.iter, by):
        return None
    for frame in frames:
        outer = [one for one in _loops(frame) if one is not inner and _holds(one, frame.site.line)]
        if outer:
            return at_line(recording, frame.site, outer[-1].lineno) if _counts(outer[-1]) else None
    return None


def _users(stack: Stack) -> Iterator[int]:
    return (place for place, site in enumerate(stack) if site.origin is Origin.USER)


def _loops(frame: Frame) -> list[Loop]:
    """Those of the function around a line, from outside in."""
    function = function_around(frame.tree, frame.site.line) or frame.tree
    return [node for node in ast.walk(function) if isinstance(node, Loop)]


def _holds(loop: Loop, line: int) -> bool:
    return loop.lineno <= line <= (loop.end_lineno or 0)


def _trains(recording: Recording, site: Site, loop: ast.For) -> bool:
    """Whether backwards are called in a loop, or in what it calls."""
    there = (one for call in recording.backwards() for one in call.stack)
    return any(one.is_in_function_of(site) and _holds(loop, one.line) for one in there)


def _counts(loop: Loop) -> bool:
    """Whether a loop counts, and goes through no loaders."""
    if isinstance(loop, ast.While):
        return True
    return any(isinstance(node, ast.Call) and called_name(node) in _COUNTS for node in ast.walk(loop.iter))
