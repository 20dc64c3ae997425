"""GS787: epochs that go through the samples in one and the same order."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gradscope.functions.source import called_name, is_attribute_of, last_name
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.syntax import Loop, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording, load

_SAMPLER = "DistributedSampler"
_DRAWS = "aten.randperm"
_DRAWN_IN = "torch/utils/data/distributed.py"
_TELLS = "set_epoch"
_COUNTS = frozenset(("range", "trange", "count"))
_PASSES_ON = "/tqdm/"  # a library that goes through a loader and leaves it alone
_MOST = 64  # files: where there are more, some may not be kept
_TWICE = 2


def same_order(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Epochs of a training in which a DistributedSampler gives the samples in one and the same order, since nobody
        calls its set_epoch().
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
        which backwards are called, and which stands in a loop that counts. The program does not name set_epoch, sets no
        epoch of another object, and makes the sampler in no loop and in no function that one calls. Silent where
        another library goes through the loader, which may tell it. The line is that of the loop over the epochs.
    """
    if len(ranks.ranks) < _TWICE:
        return
    with load(Path(ranks.ranks[0].path)) as recording:
        trees = {file: tree_of(recording, Site(file, 1)) for file in recording.sources()}
        if len(trees) >= _MOST or _may_be_told(trees) or not _is_made_once(trees):
            return
        for stack, times in _shuffles(recording).items():
            site = _epochs(recording, stack) if times >= _TWICE else None
            if site is not None:
                yield Blame(
                    f"a {_SAMPLER} gives the samples in the same order in all of {times:,} epochs: "
                    "its set_epoch() is not called",
                    site,
                    certain=False,
                )


def _may_be_told(trees: dict[str, ast.Module]) -> bool:
    """Whether a program may tell a sampler the epoch, or has a sampler of its own."""
    nodes = [node for tree in trees.values() for node in nodes_of(tree)]
    stored = (node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    classes = (node for node in nodes if isinstance(node, ast.ClassDef))
    return (
        any(_TELLS in _says(node) for node in nodes)
        or any(one.attr == "epoch" and not is_attribute_of(one, "self") for one in stored)
        or any(last_name(base).endswith(_SAMPLER) for one in classes for base in one.bases)
    )


def _says(node: ast.AST) -> tuple[object, ...]:
    """What a node calls something: a name, an attribute, a function, a text."""
    return tuple(getattr(node, field, None) for field in ("id", "attr", "name", "value"))


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


def _shuffles(recording: Recording) -> Counter[Stack]:
    """How often samplers of torch's shuffled, by the stack."""
    return Counter(
        one.stack
        for block in recording.blocks()
        for one in block.operations
        if one.name.startswith(_DRAWS) and one.stack and one.stack[0].file.endswith(_DRAWN_IN)
    )


def _epochs(recording: Recording, stack: Stack) -> Site | None:
    """The loop that counts epochs, around a loop over a loader that a stack goes through and that trains."""
    passed = [site for site in stack[: next(_users(stack), 0)] if site.origin is not Origin.TORCH]
    frames = frames_of(recording, stack)
    if not frames or any(_PASSES_ON not in site.file for site in passed):
        return None
    inner = next((one for one in _loops(frames[0]) if one.lineno == frames[0].site.line), None)
    if not isinstance(inner, ast.For) or not _trains(recording, frames[0].site, inner):
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
