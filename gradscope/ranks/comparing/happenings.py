"""Compares how two runs train: the calls by which they do, hooks, backward calls, and how they ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from gradscope.model.comparison import Side
from gradscope.model.graph import Backward
from gradscope.model.hook import Hook
from gradscope.model.site import Site, Stack, user_site
from gradscope.model.training import TrainingCall
from gradscope.ranks.comparing.together import Gathered, Pair, first_unequal
from gradscope.ranks.core.choice import Ignored
from gradscope.ranks.core.keys import unwrapped
from gradscope.store import sequence_reader
from gradscope.store.backward_reader import EFFECTS
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording

Line = Callable[[str, int], Hashable]


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that one run did: what makes it the same in another, and the words for it."""

    key: Hashable
    words: str
    stack: Stack


class Happenings:
    """What one run did, by backward call. `line` tells a line as the first program's."""

    def __init__(self, recording: Recording, ignored: Ignored, line: Line) -> None:
        self._recording, self._ignored, self._line = recording, ignored, line
        self._hooks = {hook.number: hook for hook in recording.hooks()}
        self.calls = self._calls()
        with damage_is_one_sentence(recording.path):
            self.hooks_on = self._hooks_on()
            self.firings = self._firings()

    def _place(self, stack: Stack) -> Hashable:
        site = user_site(stack)
        return None if site is None or self._ignored.lines else self._line(site.file, site.line)

    def _calls(self) -> dict[int, list[Happened]]:
        """What a program calls to train, by the backward call that comes next."""
        found: dict[int, list[Happened]] = defaultdict(list)
        places: dict[int, int] = {}
        end = len(self._recording.backwards())
        for interval in self._recording.intervals():
            after = end if interval.backward is None else interval.backward
            found[after] += [self._call(call, places) for call in interval.calls]
        return found

    def _call(self, call: TrainingCall, places: dict[int, int]) -> Happened:
        place = None if call.optimizer is None else places.setdefault(call.optimizer, len(places))
        module = None if call.module is None or self._ignored.names else unwrapped(call.module)
        key = (call.kind.name, place, module, self._place(call.stack), call.count, call.total)
        what = f" of {call.module}" if call.module else ""
        counts = f" ({call.count} of {call.total})" if call.total > 0 else ""
        return Happened(key, f"{call.kind.name}{what}{counts}", call.stack)

    def _hook(self, number: int) -> Hook:
        if number not in self._hooks:
            raise ValueError(f"there is no hook {number}")
        return self._hooks[number]

    def _hooks_on(self) -> dict[int, list[Happened]]:
        found: dict[int, list[Happened]] = defaultdict(list)
        for backward, node, number in sequence_reader.read_hooks_on(self._recording.tables.rows):
            hook = self._hook(number)
            key = (node, hook.kind, hook.name, self._place(hook.stack))
            found[backward].append(Happened(key, f"{hook.kind} hook {hook.name} on {hook.on}", hook.stack))
        return found

    def _firings(self) -> dict[int, list[Happened]]:
        found: dict[int, list[Happened]] = defaultdict(list)
        for backward, number, node, changed in sequence_reader.read_firings(self._recording.tables.rows):
            hook = self._hook(number)
            key = (node, hook.kind, hook.name, self._place(hook.stack), changed)
            did = EFFECTS[changed].value if 0 <= changed < len(EFFECTS) else ""
            found[backward].append(Happened(key, f"{hook.kind} hook {hook.name} {did}", hook.stack))
        return found


def compare(first: Happenings, second: Happenings, gathered: Gathered, pairs: list[Pair]) -> None:
    """Compare backward call by backward call."""
    for one, other in pairs:
        _lists("training call", one, first.calls[one], second.calls[other], gathered)
        _lists("hook", one, first.hooks_on[one], second.hooks_on[other], gathered)
        _lists("fired hook", one, first.firings[one], second.firings[other], gathered)


def compare_ends(first: Recording, second: Recording, gathered: Gathered, pairs: list[Pair], whole: bool) -> None:
    """Compare the backward calls themselves, and, for `whole` runs, how these ended."""
    calls, others = first.backwards(), second.backwards()
    for one, other in pairs:
        here, there = _told(calls[one]), _told(others[other])
        gathered.count("backward", 1, 1)
        if here[0] != there[0]:
            sides = Side(here[1], calls[one].site), Side(there[1], others[other].site)
            gathered.note("backward", one, sides, stacks=(calls[one].stack, others[other].stack))
    if whole:
        _count(calls, others, gathered, len(pairs))
        _ends(first, second, gathered, max(len(calls), len(others)))


def _count(calls: tuple[Backward, ...], others: tuple[Backward, ...], gathered: Gathered, common: int) -> None:
    """One run may have more backward calls."""
    if len(calls) == len(others):
        return
    gathered.count("backward", len(calls) - common, len(others) - common)
    more = (calls if len(calls) > len(others) else others)[common]
    goes_on = Side(f"{max(len(calls), len(others)):,} backward calls, of which this is the next", more.site)
    ended = Side(f"{common:,} backward calls")
    sides = (goes_on, ended) if len(calls) > len(others) else (ended, goes_on)
    gathered.note("backward", common, sides, stacks=(more.stack, more.stack))


def _ends(first: Recording, second: Recording, gathered: Gathered, at: int) -> None:
    gathered.count("exception", 1, 1)
    sides = _end(first), _end(second)
    if sides[0].words != sides[1].words:
        gathered.note("exception", at, sides)


def _end(recording: Recording) -> Side:
    run = recording.run()
    failures = recording.failures()
    site: Site | None = failures[-1].site if failures and run.exception else None
    if not run.ended:
        return Side("the run did not end: it was killed, or goes on")
    return Side(run.exception or f"exit status {run.status}", site)


def _told(call: Backward) -> tuple[Hashable, str]:
    """What makes a call the same, and the words for it."""
    switches = [name for name in ("keep_graph", "create_graph") if getattr(call, name)]
    inputs = None if call.inputs is None else len(call.inputs)
    words = f"{call.kind}{f' with {chr(44).join(switches)}' if switches else ''}"
    words += f" for {inputs} inputs" if inputs is not None else ""
    words += f" raised {call.exception}" if call.exception else ""
    return (call.kind, tuple(switches), inputs, call.nested_in is None, call.exception), words


def _lists(aspect: str, backward: int, first: list[Happened], second: list[Happened], gathered: Gathered) -> None:
    gathered.count(aspect, len(first), len(second))
    at = first_unequal((one.key for one in first), (one.key for one in second))
    if at is None:
        return
    here = first[at] if at < len(first) else None
    there = second[at] if at < len(second) else None
    sides = tuple(Side() if one is None else Side(one.words, user_site(one.stack)) for one in (here, there))
    stacks = (() if here is None else here.stack, () if there is None else there.stack)
    gathered.note(aspect, backward, (sides[0], sides[1]), position=at, stacks=stacks)
