"""The line that builds a layer which no forward uses, of parameters that DistributedDataParallel missed by number; that
which wraps the model, where a forward chooses which of its layers run."""

from __future__ import annotations

import re

from gradscope.model.site import user_site
from gradscope.ranks.chosen_layers import chosen_at
from gradscope.ranks.keys import unwrapped
from gradscope.ranks.known import Ranks, Told
from gradscope.ranks.ways import ways_of
from gradscope.ranks.wrapper_names import orders_of
from gradscope.store.reader import Recording

_NUMBERS = re.compile(r"did not receive grad for rank \d+: ([\d ]+)")  # as DistributedDataParallel tells them


def never_used(ranks: Ranks, number: int, recording: Recording, reached: set[str]) -> Told | None:
    """Of the first parameter that got no gradient: where its layer was built, which nothing ran in, in words and the
    line. None where one that is meant has a gradient: numbers leave out what is frozen, and names do not."""
    missing = _named(ranks, number, recording)
    if not missing or set(missing) & {unwrapped(leaf) for leaf in reached}:
        return None
    ran = {unwrapped(one.module.path) for way in ways_of(recording).values() for one in way if one.module is not None}
    built = {unwrapped(one.path): user_site(one.stack) for one in recording.declarations()}
    for name in missing:
        layer = name.rpartition(".")[0]
        site = built.get(layer)
        if site is not None and layer not in ran:
            chosen, wrapped = chosen_at(recording, name, ran), ranks.averaging[number].wrapped
            if chosen is not None and wrapped is not None:
                return f"since line {chosen.line} chooses which layers run, and that of {name} did not", wrapped
            return f"since nothing runs the layer of {name}", site
    return None


def _named(ranks: Ranks, number: int, recording: Recording) -> list[str]:
    """The names of parameters that the last exception has the numbers of, of a program with one wrapper."""
    failures = recording.failures()
    told = _NUMBERS.search(failures[-1].message or "") if failures else None
    orders = orders_of(ranks, number)
    names = orders[0].get("parameters", []) if len(orders) == 1 else []
    places = [int(one) for one in told[1].split()] if told is not None else []
    return [unwrapped(names[place]) for place in places] if all(place < len(names) for place in places) else []
