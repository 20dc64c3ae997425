"""What an exception of one rank goes back to: a branch that left parameters out, a call of the module inside the
wrapper, a backward inside the backward, a layer that nothing runs, what a model is built with, the caller of a
function that meets others for several, what another rank removed, a name that each makes by itself, or a group that
not all ranks make."""

from __future__ import annotations

import re
from pathlib import Path

from gradscope.model.rank import Rank
from gradscope.model.site import user_frames
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.meeting.clocks import named_by_each
from gradscope.ranks.meeting.grouping import made_by_some
from gradscope.ranks.meeting.handing import built_with
from gradscope.ranks.meeting.left_out import NEVER, left_out
from gradscope.ranks.meeting.removed import removed_by_another
from gradscope.store.averaging_reader import read_beside_the_wrapper
from gradscope.store.collective_reader import read_runs
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_TWICE = "Expected to mark a variable ready only once"  # what DistributedDataParallel raises, as NEVER
_UNLIKE = re.compile("appears not to match|DDP expects same model across all ranks")  # and these
_OTHERS = 8  # ranks that are asked


def raised_by(ranks: Ranks, one: Rank) -> Told | None:
    """What led to the exception of a rank, in words, and the line; None where that is not to be told."""
    text = one.exception or ""
    with load(Path(one.path)) as recording:
        if _TWICE in text:
            return _in_a_nested_backward(recording) or _beside_the_wrapper(recording)
        if NEVER in text:
            return left_out(ranks, one, recording)
        if _UNLIKE.search(text):
            return _of_another_size(recording)
        lost = removed_by_another(ranks, one, recording) or named_by_each(ranks, one, recording)
        return _by_its_caller(one, recording) or lost or made_by_some(ranks, one, recording)


def _in_a_nested_backward(recording: Recording) -> Told | None:
    """The node in whose own backward a hook of the wrapper ran again, as it does in that of a reentrant checkpoint."""
    calls = {call.number: call for call in recording.backwards()}
    nested = (call for call in calls.values() if call.nested_in in calls)
    inner = next((call for call in nested if _TWICE in (call.exception or "")), None)
    outer = None if inner is None or inner.nested_in is None else calls[inner.nested_in]
    if outer is None or outer.stopped is None:
        return None
    node = recording.graph(outer.number).nodes[outer.stopped]
    return None if node.site is None else (f"in a backward of its own that {node.short_name} runs", node.site)


def _beside_the_wrapper(recording: Recording) -> Told | None:
    with damage_is_one_sentence(recording.path):
        site = read_beside_the_wrapper(recording.tables.rows, recording.tables.interned)
    return None if site is None else ("after the module inside the wrapper was called as well", site)


def _of_another_size(recording: Recording) -> Told | None:
    """What gives the number that a wrapped model is built with, where that is computed."""
    failures = recording.failures()
    site = built_with(recording, failures[-1].stack) if failures else None
    return None if site is None else (f"whose model is built with what line {site.line} gives", site)


def _by_its_caller(one: Rank, recording: Recording) -> Told | None:
    """Who called the function that raised in a collective, where the same line had met others for another caller."""
    failures = recording.failures()
    stack = user_frames(failures[-1].stack) if failures else ()
    if one.collective is None or len(stack) < 2 or one.last != one.collective.operator:
        return None
    with damage_is_one_sentence(recording.path):
        runs = read_runs(recording.tables.rows)
        entered = [user_frames(recording.tables.interned.stack(run[-1])) for run in runs]
    if not entered or entered[-1][:2] != stack[:2]:
        return None
    callers = {way[1] for way in entered[:-1] if len(way) > 1 and way[0] == stack[0]}
    if not callers or stack[1] in callers:
        return None
    return f"as line {stack[1].line} calls it, where it had met others for another caller", stack[1]
