"""The line that builds a layer which no forward uses, of parameters that DistributedDataParallel missed by number; that
which wraps the model, where a forward chooses which of its layers run, or a condition leaves one out."""

from __future__ import annotations

import ast
import re

from gradscope.model.site import Site, user_site
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.meeting.chosen_layers import chosen_at, passed_by
from gradscope.ranks.source.syntax import at_line, function_around, nodes_in, tree_of
from gradscope.ranks.source.ways import ways_of
from gradscope.ranks.source.wrapper_names import orders_of
from gradscope.store.reader import Recording

_INSIDE = "module"  # the attribute in which a wrapper has what it wraps
_NUMBERS = re.compile(r"did not receive grad for rank \d+: ([\d ]+)")  # as DistributedDataParallel tells them


def never_used(ranks: Ranks, number: int, recording: Recording, reached: set[str]) -> Told | None:
    """Of the first parameter that got no gradient: where another layer took the place of its own, or where its own was
    built, which nothing ran in, in words and the line. None where one that is meant has a gradient: numbers leave out
    what is frozen, and names do not."""
    missing = _named(ranks, number, recording)
    replaced = _replaced(recording, missing[0], ranks.averaging[number].wrapped) if missing else None
    if replaced is not None:
        return f"since another layer was put in the place of that of {missing[0]} after the wrap", replaced
    if not missing or set(missing) & {unwrapped(leaf) for leaf in reached}:
        return None
    ways = ways_of(recording)
    ran = {unwrapped(one.module.path) for way in ways.values() for one in way if one.module is not None}
    built = {unwrapped(one.path): user_site(one.stack) for one in recording.declarations()}
    for name in missing:
        layer = name.rpartition(".")[0]
        site = built.get(layer)
        if site is not None and layer not in ran:
            chosen, wrapped = chosen_at(recording, name, ran), ranks.averaging[number].wrapped
            if chosen is not None and wrapped is not None:
                return f"since line {chosen.line} chooses which layers run, and that of {name} did not", wrapped
            condition = passed_by(recording, name, ran, ways)
            if condition is not None and wrapped is not None:
                return f"since line {condition.line} decides whether the layer of {name} runs, and it did not", wrapped
            return f"since nothing runs the layer of {name}", site
    return None


def _replaced(recording: Recording, name: str, wrapped: Site | None) -> Site | None:
    """The line below the wrap, in its function, that assigns what has a layer, or the layer itself, another one."""
    tree = None if wrapped is None else tree_of(recording, wrapped)
    if wrapped is None or tree is None:
        return None
    function = function_around(tree, wrapped.line)
    layer = name.split(".")[:-1]
    for node in tree.body if function is None else nodes_in(function):
        if isinstance(node, ast.Assign) and node.lineno > wrapped.line and _assigns(node.targets[0], layer):
            return at_line(recording, wrapped, node.lineno)
    return None


def _assigns(target: ast.expr, layer: list[str]) -> bool:
    """Whether a target is a layer by its last names, as `net.module.encoder.mix` or `net.module[0]` is."""
    names: list[str] = []
    while isinstance(target, ast.Attribute | ast.Subscript):
        key = target.slice if isinstance(target, ast.Subscript) else None
        names.append(target.attr if isinstance(target, ast.Attribute) else str(getattr(key, "value", "")))
        target = target.value
    names = [one for one in reversed(names) if one != _INSIDE]
    return bool(names) and names == layer[: len(names)]


def _named(ranks: Ranks, number: int, recording: Recording) -> list[str]:
    """The names of parameters that the last exception has the numbers of, of a program with one wrapper."""
    failures = recording.failures()
    told = _NUMBERS.search(failures[-1].message or "") if failures else None
    orders = orders_of(ranks, number)
    names = orders[0].get("parameters", []) if len(orders) == 1 else []
    places = [int(one) for one in told[1].split()] if told is not None else []
    return [unwrapped(names[place]) for place in places] if all(place < len(names) for place in places) else []
