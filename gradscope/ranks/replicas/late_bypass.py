"""Where a program that trained through its wrapper calls the module inside it from some backward call on."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from gradscope.model.graph import Graph
from gradscope.model.site import Origin, Site, user_frames
from gradscope.ranks.core.copies import Apart, looks_of
from gradscope.ranks.core.keys import Once
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.replicas.beside import asked_at
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.past_the_hooks import read_past_backwards
from gradscope.store.reader import Recording, load

_ASKS = re.compile(r"\.module\b")  # the attribute in which a wrapper has what it wraps
_MODULES = "torch/nn/modules/module.py"
_FROM = "from backward {} on, the module inside DistributedDataParallel is called, so that no gradient is averaged"


def bypassed_later(ranks: Ranks, found: Apart) -> Told | None:
    """From which backward call on a parameter is trained past its wrapper, in words, and the line that asks for the
    module inside: one that came to it by no call of the wrapper and averaged nothing, since all were equal."""
    number = found.members[0]
    if ranks.averaging[number].by_hand or ranks.averaging[number].unsynchronised is not None:
        return None
    equal = max(look for look in looks_of(ranks.weights, found.replicas) if look < found.backward)
    with load(Path(ranks.rank(number).path)) as recording:
        with damage_is_one_sentence(recording.path):
            past = read_past_backwards(recording.tables.rows, equal, found.backward)
        asked: dict[int, Site | None] = {}  # by graph, which many backward calls share
        for backward, graph in past:
            if graph not in asked:
                asked[graph] = _asks(recording, backward, ranks.own(number, found.leaf), equal)
            site = asked[graph]
            if site is not None:
                return _FROM.format(backward), site
    return None


def _asks(recording: Recording, number: int, leaf: str, equal: int) -> Site | None:
    """The line that asks for the module on the way to a graph; else that in the innermost function which leads to the
    graph and to its backward, or, where an earlier graph came by that line as well, the first one inside of it that
    leads to the module and did not."""
    graph = recording.graph(number)
    if not any(node.leaf == leaf for node in graph.nodes):
        return None
    built = (node.stack for node in graph.nodes if node.leaf is None)
    ways = dict.fromkeys(tuple(site for site in stack if site.origin is Origin.USER) for stack in built)
    of_site = Once(partial(_asked, recording))
    asks = (of_site[site] for way in reversed(ways) for site in way)
    started = next((user_frames(one.stack) for one in recording.backwards() if one.number == number), ())
    beside = (site for one in started for way in reversed(ways) for site in way if site.is_in_function_of(one))
    asked, known = next(filter(None, asks), None), next(beside, None)
    if asked is not None or known is None:
        return asked
    return _newly_called(recording, graph, equal, known) or known


def _newly_called(recording: Recording, graph: Graph, equal: int, known: Site) -> Site | None:
    """The line that calls a module in a graph and nothing in an earlier one, which came by a known line too."""
    if equal not in recording.graph_sizes():
        return None
    earlier = {str(site) for node in recording.graph(equal).nodes for site in node.stack}
    for node in graph.nodes if str(known) in earlier else ():
        inside = [at for at, site in enumerate(node.stack) if site.file.endswith(_MODULES)]
        callers = user_frames(node.stack[inside[-1] :]) if inside and node.leaf is None else ()
        new = [site for site in callers if str(site) not in earlier]
        if new:
            return new[-1]
    return None


def _asked(recording: Recording, site: Site) -> Site | None:
    if _ASKS.search(site.source or ""):
        return site
    asked = asked_at(recording, site)
    return None if asked == site else asked
