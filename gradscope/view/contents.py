"""What a recording holds, in rows of words: the picture that `gradscope info` is written from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradscope.model.run import Census, Fault, Run
from gradscope.model.summary import Calls
from gradscope.view.words import amount, first_line, place, seconds, size

MOST_ROWS = 20
WORDS = frozenset({"backward", "kind", "called at"})  # the columns that are no numbers
HEADINGS = ("backward", "kind", "nodes", "edges", "saves", "time", "called at")


@dataclass(frozen=True, slots=True)
class Contents:
    """All that `info` says. `calls` are one by one, or those that are alike together when there are many."""

    recording: str
    recovered: bool
    run: Run
    census: Census
    calls: tuple[Calls, ...]
    faults: tuple[Fault, ...]


def rows(contents: Contents) -> list[tuple[str, str]]:
    """A name and what there is to say, a row each; continued rows have no name."""
    run, census = contents.run, contents.census
    counts = [amount(census.nodes, "node"), amount(census.edges, "edge"), f"{amount(census.graphs, 'distinct graph')}"]
    operations = f"{amount(census.operations, 'operator call')}, {census.mutations:,} of them writing in place"
    if census.repeated:
        operations += f"; {census.repeated:,} counted, not looked at: their backward repeats an earlier one"
    return [
        ("recording", f"{contents.recording} ({size(census.bytes)})"),
        ("command", " ".join(run.argv)),
        ("directory", run.cwd),
        ("versions", f"gradscope {run.gradscope}, torch {run.torch}, Python {run.python}, {run.platform}"),
        ("detail", run.detail),
        *([("begins", f"after {run.steps_before:,} steps of the run")] if run.steps_before else []),
        *([("trigger", run.trigger)] if run.trigger else []),
        *([("rank", f"{run.rank} of {run.world_size}")] if run.rank is not None else []),
        ("ended", _end(contents)),
        *([("steps", _steps(census))] if census.first_step else []),
        ("backwards", f"{census.backwards:,}: {', '.join(counts)}"),
        ("operators", operations if census.operations else "none recorded"),
        ("saved", amount(census.saved, "tensor")),
        ("hooks", f"{census.hooks:,} registered, {census.firings:,} fired"),
        ("threads", f"{census.threads:,}"),
        ("levels", ", ".join(census.levels) or "none"),
        *_listed("lacks", [lack.sentence for lack in run.lacks]),
        *_listed("dropped", [f"{reason}: {count:,}" for reason, count in census.dropped.items()] or ["nothing"]),
        *_listed("faults", [_fault(fault) for fault in contents.faults] or ["none"]),
    ]


def table(contents: Contents) -> list[tuple[str, ...]]:
    """The backward calls, under headings."""
    shown = contents.calls[:MOST_ROWS]
    found = [HEADINGS, *(_row(calls, contents.run.cwd) for calls in shown)]
    hidden = sum(calls.count for calls in contents.calls[MOST_ROWS:])
    return [*found, (f"and {hidden:,} more calls",)] if hidden else found


def _row(calls: Calls, folder: str) -> tuple[str, ...]:
    kind = calls.kind + (", create_graph" if calls.create_graph else "") + (", nested" if calls.nested else "")
    where = place(calls.site, folder) if calls.site else ""
    return (
        _numbers(calls),
        kind,
        _span(calls, calls.nodes, "{:,}".format),
        _span(calls, calls.edges, "{:,}".format),
        _span(calls, calls.saved_bytes, size),
        (seconds(calls.seconds) + (" in all" if calls.count > 1 else "")) if calls.seconds else "-",
        f"{where}  {first_line(calls.exception)}".strip(),
    )


def _steps(census: Census) -> str:
    """Which steps there are, of a recording that does not begin with the first."""
    first, last = census.first_step or 0, census.last_step or 0
    between = "" if census.steps == last - first + 1 else f", {census.steps:,} of them"
    return f"{first:,} to {last:,}{between}"


def _span(calls: Calls, sizes: tuple[int, int], words: Callable[[int], str]) -> str:
    """The least and the most, or one of them when both read the same."""
    if not calls.graphs:
        return "-"
    return " - ".join(dict.fromkeys(map(words, sizes)))


def _numbers(calls: Calls) -> str:
    if calls.count == 1:
        return str(calls.first)
    all_between = calls.count == calls.last - calls.first + 1
    return f"{calls.first}-{calls.last}" + ("" if all_between else f" ({calls.count:,} calls)")


def _end(contents: Contents) -> str:
    run = contents.run
    took = f"after {seconds(run.duration)}"
    if not run.ended:
        how = " (recovered from its journal)" if contents.recovered else ""
        return f"no clean end: killed, or still running; recorded up to {seconds(run.duration)}{how}"
    stopped = f"; the recording stopped before: {first_line(run.stopped)}" if run.stopped else ""
    if run.exception:
        return f"{took} with {first_line(run.exception)}{stopped}"
    return f"{took} with status {0 if run.status is None else run.status}{stopped}"


def _fault(fault: Fault) -> str:
    return f"{fault.probe}: {fault.message}" + (f" ({fault.count:,} times)" if fault.count > 1 else "")


def _listed(name: str, values: list[str]) -> list[tuple[str, str]]:
    return [(name if position == 0 else "", value) for position, value in enumerate(values)]
