"""How a run goes, at a glance: pace, backward, graph, loss, and by module gradients and updates."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from gradscope.measures.steps import by_step
from gradscope.model.glance import Glance, ModulePulse
from gradscope.model.graph import Backward
from gradscope.model.run import Run
from gradscope.model.table import Table
from gradscope.store.reader import Recording

_LAST = 50  # steps over which pace and share are taken
_CURVE = 200  # values of a curve
_DEPTH = 2  # parts of a module's path


def glance(recording: Recording, is_running: bool) -> Glance:
    """What there is to see in a recording now; `is_running` says whether its process is there."""
    run, table = recording.run(), by_step(recording, {})
    outermost = [call for call in recording.backwards() if call.nested_in is None]
    last = outermost[-1] if outermost else None
    saved = recording.saved_bytes(last.number) if last is not None else None
    return Glance(
        name=recording.path.name,
        state=_state(run, is_running),
        rank=run.rank,
        step=None if last is None else last.step,
        steps=len(outermost),
        pace=_pace(outermost),
        backward_share=_share(outermost),
        nodes=None if last is None else recording.graph_sizes().get(last.number),
        saved=saved,
        loss=_known(list(recording.losses().values())),
        gradients=_column(table, "gradient norm"),
        rate=next(iter(reversed(_column(table, "lr"))), None),
        modules=modules(recording),
        size=recording.path.stat().st_size,
    )


def modules(recording: Recording) -> tuple[ModulePulse, ...]:
    """By module, in the order of the program: gradient norms and shares of elements updated."""
    squares: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for size in recording.sizes():
        squares[_module(size.leaf)][size.backward] += size.gradient**2
    changed: dict[str, dict[tuple[int, int], list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for one in recording.updates():
        counts = changed[_module(one.parameter)][one.optimizer, one.count]
        counts[0] += one.changed
        counts[1] += one.elements
    names = dict.fromkeys([*squares, *changed])
    return tuple(
        ModulePulse(
            name,
            tuple(math.sqrt(value) for _, value in sorted(squares[name].items()))[-_CURVE:],
            tuple(part / whole for _, (part, whole) in sorted(changed[name].items()) if whole)[-_CURVE:],
        )
        for name in names
    )


def _state(run: Run, is_running: bool) -> str:
    if run.exception:
        return f"failed: {run.exception}"
    if run.stopped:
        return f"stopped early: {run.stopped}"
    return "ended" if run.ended else "being written" if is_running else "killed"


def _pace(calls: Sequence[Backward]) -> float | None:
    """Steps a second, from one backward's end to another's."""
    ends = [call.started + call.duration for call in calls[-_LAST:] if call.duration is not None]
    return (len(ends) - 1) / (ends[-1] - ends[0]) if len(ends) > 1 and ends[-1] > ends[0] else None


def _share(calls: Sequence[Backward]) -> float | None:
    """The share of time in backward, from the end of the first call to that of the last."""
    known = [call for call in calls[-_LAST:] if call.duration is not None]
    if len(known) < 2:
        return None
    took = known[-1].started + (known[-1].duration or 0.0) - known[0].started - (known[0].duration or 0.0)
    return min(1.0, sum(call.duration or 0.0 for call in known[1:]) / took) if took > 0 else None


def _module(leaf: str) -> str:
    """The module of a parameter, by the first parts of its path; what has none is called by its own name."""
    path = leaf.split(".")[:-1] or [leaf]
    return ".".join(path[:_DEPTH])


def _column(table: Table, name: str) -> tuple[float, ...]:
    place = table.names.index(name)
    return _known([value for row in table.rows if isinstance(value := row[place], (int, float))])


def _known(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(values[-_CURVE:])
