"""The names of parameters and buffers in each DistributedDataParallel of a rank, in the order that it goes by."""

from __future__ import annotations

import json
from pathlib import Path

from gradscope.ranks.core.known import Ranks
from gradscope.store.file import damage_is_one_sentence

Order = dict[str, list[str]]  # names, by what they are of


def orders_of(ranks: Ranks, number: int) -> list[Order]:
    """What a rank says, for each of its wrappers; nothing where it says nothing."""
    text = next((text for text, members in ranks.orders.items() if number in members), "")
    if not text:
        return []
    with damage_is_one_sentence(Path(ranks.rank(number).path)):
        found = json.loads(text)
        lists = [each for one in found for each in one.values()] if isinstance(found, list) else [None]
        if not all(isinstance(each, list) and all(isinstance(name, str) for name in each) for each in lists):
            raise ValueError("the order of names has no form")
        return list(found)
