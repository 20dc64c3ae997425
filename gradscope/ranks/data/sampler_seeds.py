"""A DistributedSampler that is given another seed on each rank: it parts what it takes for one order on all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import asks_for_rank, origin
from gradscope.ranks.source.given import Frame
from gradscope.ranks.source.syntax import at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

SAMPLES_IN = "torch/utils/data/distributed.py"
_SAMPLER = "DistributedSampler"
_SEED, _REPLICAS = "seed", "num_replicas"
_DRAWS = "aten.randperm"


def permutations(recording: Recording) -> Iterator[Stack]:
    """Where permutations were drawn."""
    for block in recording.blocks():
        yield from (one.stack for one in block.operations if one.name.startswith(_DRAWS) and one.stack)


def seeded_sampler(recording: Recording) -> Site | None:
    """The line that gives a sampler, which shuffled, a seed that goes back to the rank on each way to it."""
    if not any(stack[0].file.endswith(SAMPLES_IN) for stack in permutations(recording)):
        return None
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for call in nodes_of(tree):
            given = _given(call)
            seed = given.get(_SEED)
            if isinstance(call, ast.Call) and seed is not None and not _is_alone(given.get(_REPLICAS)):
                ways = list(ways_to(recording, file, tree, call.lineno))
                data = call.args[0] if call.args else given.get("dataset")
                if all(_is_own(recording, way, seed) for way in ways) and not any(
                    data is not None and _is_own(recording, way, data) for way in ways
                ):
                    function = function_around(tree, call.lineno)
                    name = "<module>" if function is None else function.name
                    return at_line(recording, Site(file, seed.lineno, name), seed.lineno)
    return None


def _given(node: ast.AST) -> dict[str | None, ast.expr]:
    """What a call of a sampler is given by name."""
    is_one = isinstance(node, ast.Call) and called_name(node) == _SAMPLER
    return {one.arg: one.value for one in node.keywords} if is_one and isinstance(node, ast.Call) else {}


def _is_alone(replicas: ast.expr | None) -> bool:
    """Whether a sampler gives all samples to one rank, which then may shuffle as it likes."""
    return isinstance(replicas, ast.Constant) and replicas.value == 1


def _is_own(recording: Recording, way: list[Frame], value: ast.expr) -> bool:
    return origin(recording, way, value, asks_for_rank) is not None
