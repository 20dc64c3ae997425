"""Gradients that ranks sum in float16, whose largest number is 65,504, where an optimizer then reads NaN."""

from __future__ import annotations

from gradscope.model.birth import Birth
from gradscope.model.operation import Operation
from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.given import made_at
from gradscope.ranks.source.ways import ways_of
from gradscope.store.reader import Recording

_SUMS = ("allreduce", "all_reduce", "reduce_scatter")
_READERS = ("torch/optim/", "torch/nn/utils/clip_grad.py")  # of gradients


def summed_in_half(ranks: Ranks, recording: Recording, backward: int) -> Site | None:
    """The line that makes what is summed so, else of the sum, in the backward before one whose loss is not finite, or
    after that; None where the first NaN was not read by an optimizer."""
    half = {
        (one.operator, one.site)
        for one in ranks.collectives
        if any(sums in one.operator for sums in _SUMS) and any(each.dtype == "float16" for each in one.types)
    }
    if not half or not _read_by_an_optimizer(recording, backward):
        return None
    found = next((one for one in _step(recording, backward) if (one.name, one.site) in half), None)
    return None if found is None else made_at(recording, found.stack, through=False) or found.site


def _read_by_an_optimizer(recording: Recording, backward: int) -> bool:
    """Whether the first NaN on the way to a backward is one that came with a gradient."""
    births = [one for one in recording.births() if one.step <= backward]
    return bool(births) and births[0].step == backward and births[0].entered and _of_gradients(births[0])


def _of_gradients(birth: Birth) -> bool:
    return any(reader in site.file for site in birth.stack for reader in _READERS)


def _step(recording: Recording, backward: int) -> list[Operation]:
    """What ran in the backward before one, and on the way to it."""
    inside = (block for block in recording.blocks() if block.backward == backward - 1)
    return [*(one for block in inside for one in block.operations), *ways_of(recording).get(backward, [])]
