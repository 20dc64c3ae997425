"""What a box of several nodes says of the special ones among them: how many hooks, which custom Functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gradscope.model.graph import Node
from gradscope.model.hook import Hook
from gradscope.view.drawing import Row
from gradscope.view.role import Role
from gradscope.view.words import TIMES, amount, place

MOST_FUNCTIONS = 6  # named in a box


def marks(nodes: Sequence[Node], shared: frozenset[int], folder: str) -> Iterator[Row]:
    """Hooks, custom Functions and parameters, counted. `shared` are the ids of parameters with several users."""
    hooks = [hook for node in nodes if node.hooks for hook in node.hooks]
    if hooks:
        yield Row(_hooks(hooks, folder), Role.HOOKED)
    yield from _functions(nodes)
    parameters = [node for node in nodes if node.accumulates]
    if parameters:
        yield Row(_parameters(len(parameters), sum(node.id in shared for node in parameters)), Role.ACCUMULATE)


def _hooks(hooks: Sequence[Hook], folder: str) -> str:
    """`44 hooks at train.py:12`; without the line where there are several."""
    sites = {hook.site for hook in hooks}
    site = next(iter(sites))
    line = f" at {place(site, folder)}" if len(sites) == 1 and site is not None else ""
    return amount(len(hooks), "hook") + line


def _functions(nodes: Iterable[Node]) -> Iterator[Row]:
    """`22x RMSNorm (custom)`, a row for each Function; those with the most nodes when there are many."""
    counts = Counter(node.function.name for node in nodes if node.function is not None).most_common()
    named = counts if len(counts) <= MOST_FUNCTIONS else counts[: MOST_FUNCTIONS - 1]
    for name, count in named:
        yield Row(f"{count:,}{TIMES} {name.rpartition('.')[2]} (custom)", Role.CUSTOM)
    rest = counts[len(named) :]
    if rest:
        nodes_left = sum(count for _, count in rest)
        yield Row(f"{nodes_left:,}{TIMES} {len(rest):,} more custom Functions", Role.CUSTOM)


def _parameters(count: int, shared: int) -> str:
    """`12 parameters, 2 of them shared`."""
    if shared == count:
        return amount(count, "shared parameter")
    return amount(count, "parameter") + (f", {shared:,} of them shared" if shared else "")
