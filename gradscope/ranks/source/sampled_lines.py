"""The lines by which a rank computes over samples: what it makes there has fewer numbers than what it reads."""

from __future__ import annotations

from math import prod

from gradscope.model.flow import FlowTensor
from gradscope.model.site import Stack, user_frames
from gradscope.ranks.source.ways import forwards_of, is_collective
from gradscope.store.reader import Recording

Line = tuple[str, int]


def count(tensor: FlowTensor) -> int:
    """How many numbers it has."""
    return prod(tensor.type.shape)


def is_over(read: FlowTensor, made: FlowTensor) -> bool:
    """Whether what was read has more numbers, and others than what is made of them: samples are what it begins with."""
    return count(read) > count(made) and read.type.shape[:1] != made.type.shape[:1]


def sampled_lines(recording: Recording) -> set[Line]:
    """Those of the first steps, with the lines that lead to them; a part of something is made of no samples."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    stacks: dict[Stack, None] = {}
    for _, one in forwards_of(recording):
        read = [tensors[each.tensor] for each in one.reads if each.tensor in tensors]
        made = [tensors[each] for each in one.makes if each in tensors]
        storages = {each.storage for each in read}
        is_part = all(each.storage in storages for each in made) or is_collective(one.operation.name)
        if not is_part and any(is_over(each, made[0]) and not each.parameter for each in read):
            stacks[one.operation.stack] = None
    return {(site.file, site.line) for stack in stacks for site in user_frames(stack)}
