"""Reads many recordings of one run, one at a time, and keeps of each only what is compared: thousands fit in memory."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from gradscope.model.averaging import GroupKey
from gradscope.model.rank import LOST_A_PEER, Collective, ProcessGroup, Rank, State
from gradscope.model.run import Run
from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.meeting.meeting import missing
from gradscope.ranks.replicas.swapped import swapped, with_names
from gradscope.store import rank_reader
from gradscope.store.averaging_reader import read_averaging, read_reducers
from gradscope.store.collective_reader import (
    Entered,
    read_collectives,
    read_process_groups,
    read_runs,
    read_wait,
    user_sites,
)
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_IN_NAME = re.compile(r"\.r(\d+)-of-(\d+)\.")


def gather(paths: Iterable[Path], doing: Callable[[int], None] = lambda count: None) -> Ranks:
    """Read them all. `doing` is told how many were read."""
    found = Ranks()
    numbers: dict[Collective, int] = {}
    shared: dict[bytes, array[int]] = {}
    others: list[Path] = []  # workers of ranks, or all, where nothing says who they are
    for count, path in enumerate(paths, 1):
        with load(path) as recording, damage_is_one_sentence(path):
            run = recording.run()
            number = _number(run, path)
            if number is None:
                others.append(path)
            else:
                _add(found, recording, run, number, numbers, shared)
        doing(count)
    for place, path in enumerate(others if not found.ranks else ()):
        with load(path) as recording, damage_is_one_sentence(path):
            _add(found, recording, recording.run(), place, numbers, shared)
    found.ranks.sort(key=lambda one: (one.rank, one.path))
    found.ranks = [replace(one, missing=missing(found, one)) for one in found.ranks]
    return found


def _add(
    found: Ranks,
    recording: Recording,
    run: Run,
    number: int,
    numbers: dict[Collective, int],
    shared: dict[bytes, array[int]],
) -> None:
    rows, interned = recording.tables.rows, recording.tables.interned
    if run.ended:
        recording.tables.file.hold()
    runs, groups = read_runs(rows), read_process_groups(rows, interned)
    operator, wait = rank_reader.read_last_operator(rows), read_wait(rows, runs[-1][0]) if runs else None
    reducers = read_reducers(rows)
    stacks = [*(row[5] for row in runs), *(stack for _, stack in reducers), operator and operator[1], wait]
    sites = user_sites(rows, interned, filter(None, stacks))
    kinds, entered = read_collectives(rows, interned, runs, groups, sites)
    for kind in kinds:
        if kind not in numbers:
            numbers[kind] = len(found.collectives)
            found.collectives.append(kind)
    known = [numbers[kind] for kind in kinds]
    sequence = array("i", (known[one.kind] for one in entered))
    found.sequences[number] = shared.setdefault(sequence.tobytes(), sequence)  # healthy ranks do the same
    found.starts[number] = _starts(kinds, entered)
    last = None
    if entered:
        end = entered[-1]
        waited = None if wait is None else sites.get(wait)
        last = replace(kinds[end.kind], backward=end.backward, sequence=end.sequence, waited=waited)
    averaging = read_averaging(rows, interned, reducers, groups, sites)
    weights = list(rank_reader.read_weights(rows, interned, averaging.derived is not None))
    each = list(rank_reader.read_each_weight(rows, interned))
    buffers = list(rank_reader.read_buffers(rows, interned, all_of_them=not averaging.is_wrapped))
    copies = list(rank_reader.read_copies(rows, interned))
    derived = list(rank_reader.read_derived_weights(rows, interned))
    met = _met(kinds, entered, sorted({one.backward for one in (*weights, *each, *buffers, *copies, *derived)}))
    names = found.swapped[number] = swapped(found, averaging, weights)
    for one in weights if not names else [with_names(each, names) for each in weights]:
        found.weights.add(number, one, met[one.backward])
    for one in each:
        found.each.add(number, one, met[one.backward])
    for one in buffers:
        found.buffers.add(number, one, met[one.backward])
    for one in copies:
        found.copies.add(number, one, met[one.backward])
    for one in derived:
        found.derived.add(number, one, met[one.backward])
    found.paces[number] = rank_reader.read_pace(rows, any(not kinds[one.kind].inside for one in entered))
    found.averaging[number] = averaging
    found.losses[rank_reader.read_losses_as_text(rows)].append(number)
    orders = rank_reader.read_orders(rows)
    if orders:
        found.orders[orders].append(number)
    found.folder, found.torch = found.folder or run.cwd, found.torch or run.torch
    between_two = sum(kinds[one.kind].between_two for one in entered)
    name, stack = operator or (None, 0)
    begun = None if name is None else interned.string(name), sites.get(stack)
    found.ranks.append(_rank(recording, run, number, begun, len(sequence) - between_two, last))


def _met(kinds: list[Collective], entered: list[Entered], looks: list[int]) -> dict[int, dict[GroupKey, int]]:
    """By backward call: how many collectives a rank had entered in each group before it."""
    found: dict[int, dict[GroupKey, int]] = {}
    counts: Counter[GroupKey] = Counter()
    at = 0
    for backward in looks:
        while at < len(entered):
            kind, before = kinds[entered[at].kind], entered[at].backward
            if (before, kind.inside) > (backward, False):
                break
            if kind.group is not None:
                counts[kind.group.key] += 1
            at += 1
        found[backward] = dict(counts)
    return found


def _starts(kinds: list[Collective], entered: list[Entered]) -> dict[ProcessGroup, int | None]:
    """By group: the place of the first collective that is known, None where that of one is not."""
    found: dict[ProcessGroup, int | None] = {}
    for one in entered:
        kind = kinds[one.kind]
        if kind.group is None or kind.between_two:
            continue
        if kind.group not in found:
            found[kind.group] = one.sequence
        elif one.sequence is None:
            found[kind.group] = None
    return found


def _rank(
    recording: Recording,
    run: Run,
    number: int,
    begun: tuple[str | None, Site | None],
    collectives: int,
    collective: Collective | None,
) -> Rank:
    """A rank; `begun` is the last operator that it began, and where."""
    rows, interned = recording.tables.rows, recording.tables.interned
    bad = rank_reader.read_nonfinite(rows, interned)
    failures = recording.failures() if run.exception else ()
    return Rank(
        path=str(recording.path),
        rank=number,
        world_size=run.world_size,
        pid=run.pid,
        started=run.started,
        seconds=run.duration,
        state=_state(run),
        exception=run.exception,
        failed_at=failures[-1].site if failures else None,
        backwards=rows.number("SELECT count(*) FROM backward"),
        last=begun[0],
        last_site=begun[1],
        at=None if run.ended else _with_text(recording, rank_reader.read_place(rows)),
        collectives=collectives,
        collective=collective,
        nonfinite=None if bad is None else bad[0],
        born=None if bad is None else bad[1],
        born_by=None if bad is None else bad[2],
        nonfinite_gradient=rank_reader.read_nonfinite_gradient(rows),
    )


def _with_text(recording: Recording, site: Site | None) -> Site | None:
    """A place with the text of its line."""
    lines = [] if site is None else (recording.source(site.file) or "").splitlines()
    if site is None or not 1 <= site.line <= len(lines):
        return site
    return replace(site, source=lines[site.line - 1].strip())


def _state(run: Run) -> State:
    if not run.ended:
        return State.KILLED
    if run.exception is None:
        return State.DONE
    return State.LOST if any(words in run.exception for words in LOST_A_PEER) else State.RAISED


def _number(run: Run, path: Path) -> int | None:
    """The rank: as the file is called, or as the run says; None where nobody says it."""
    named = _IN_NAME.search(path.name)
    return int(named[1]) if named else run.rank
