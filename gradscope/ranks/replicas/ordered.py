"""GS789: parameters or buffers of replicas that do not stand in the same order on all ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.core.words import named
from gradscope.ranks.source.syntax import at_line, nodes_of, tree_of
from gradscope.ranks.source.ways import ways_of
from gradscope.ranks.source.wrapper_names import Order, orders_of
from gradscope.store.reader import Recording, load

_SETS = frozenset(("set", "frozenset"))
_THROUGH = frozenset(("list", "tuple", "enumerate", "iter", "zip"))
_REGISTERS = frozenset(("register_buffer", "register_parameter", "register_module", "add_module", "setattr"))
_HOLDERS = frozenset(("ModuleDict", "ParameterDict", "BufferDict"))


def in_another_order(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A model under DistributedDataParallel whose parameters or buffers have the same names on all ranks, and not the
        same order.
    Why:
        The wrapper knows them by their place alone. It broadcasts each buffer into the one that has its place on
        another rank, and averages gradients of parameters that have nothing to do with each other. Where they are of
        one size nothing fails. The order of a set of strings is another one in each process.
    Wrong:
        for name in set(names):
            self.register_buffer(name, kernel(name))
    Right:
        for name in sorted(set(names)):
            self.register_buffer(name, kernel(name))
    Do instead:
        Register in an order that all processes have: that of a list, or a sorted one.
    How it is found:
        The names of the parameters and buffers in each wrapper, in their order. The line is that of the one loop or
        comprehension over a set that registers something, else that of the wrap.
    """
    told = sorted(members[0] for members in ranks.orders.values())
    first = told[0] if told else 0
    orders = [orders_of(ranks, number) for number in told]
    for number, order in zip(told[1:], orders[1:], strict=True):
        for kind, here, there in _unlike(orders[0], order):
            yield Blame(
                f"the {kind} of a model are not in one order on all ranks, and DistributedDataParallel goes by it: "
                f"{unwrapped(here)} on {named([first])} stands where {unwrapped(there)} does on {named([number])}",
                _registered(ranks, first) or ranks.averaging[first].wrapped,
                certain=False,
                tensor=here,
            )
            return


def _unlike(first: list[Order], second: list[Order]) -> Iterator[tuple[str, str, str]]:
    """Of each wrapper in which the same names stand in another order: what they are of, and the first two unlike."""
    for here, there in zip(first, second, strict=False):
        for kind in sorted(here.keys() & there.keys()):
            one, other = here[kind], there[kind]
            if one != other and sorted(one) == sorted(other):
                yield next((kind, *pair) for pair in zip(one, other, strict=True) if pair[0] != pair[1])


def _registered(ranks: Ranks, number: int) -> Site | None:
    """The one line of the program that goes through a set to register something, in a loop that ran."""
    with load(Path(ranks.rank(number).path)) as recording:
        found = [(file, lines) for file in sorted(recording.sources()) for lines in _loops(recording, file)]
        ran = {(site.file, site.line) for one in ways_of(recording).get(0, []) for site in one.stack}
        found = [(file, lines) for file, lines in found if any((file, line) in ran for line in lines)]
        if len(found) != 1:
            return None
        file, lines = found[0]
        return at_line(recording, Site(file, lines.start), lines.start)


def _loops(recording: Recording, file: str) -> Iterator[range]:
    """The lines of each such loop."""
    tree = tree_of(recording, Site(file, 1))
    sets = {
        target.id
        for node in nodes_of(tree)
        if isinstance(node, ast.Assign) and _is_set(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes_of(tree):
        if isinstance(node, ast.For) and _is_set(node.iter, sets) and any(map(_registers, ast.walk(node))):
            yield range(node.lineno, (node.end_lineno or node.lineno) + 1)
        elif isinstance(node, ast.Call) and called_name(node) in _HOLDERS:
            inside = [each for one in node.args for each in ast.walk(one)]
            loops = [each for one in inside for each in getattr(one, "generators", ()) if _is_set(each.iter, sets)]
            yield from (range(each.iter.lineno, (node.end_lineno or node.lineno) + 1) for each in loops)


def _is_set(value: ast.expr, names: set[str]) -> bool:
    if isinstance(value, ast.Call) and called_name(value) in _THROUGH:
        return any(_is_set(one, names) for one in value.args)
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in _SETS
    return isinstance(value, (ast.Set, ast.SetComp)) or (isinstance(value, ast.Name) and value.id in names)


def _registers(node: ast.AST) -> bool:
    """Whether a statement registers a module, a parameter or a buffer, or puts it into something by its name."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Subscript) for target in node.targets)
    return isinstance(node, ast.Call) and called_name(node) in _REGISTERS
