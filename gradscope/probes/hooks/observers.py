"""Observers stand between the hooks of a place for the length of a backward, and see each of them begin and end.

The surprise: torch takes the hooks of a dict as they are when their turn comes. One that was removed before does not
run, one that its neighbour removes does. An observer adds no frame to a traceback and returns nothing.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import token_of
from gradscope.probes.hooks.gradient_snapshot import GradientSnapshot, change
from gradscope.probes.hooks.registrations import Registration
from gradscope.probes.tensors.device_statistics import DeviceStatistics
from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.running import current_node

RAISED, UNSEEN = 3, 4  # in firing.changed
Due = list[tuple[Any, Registration | None]]  # the keys of hooks in the order in which they run
# Is told that a hook has run in a turn, what it did, the gradient after it, and what torch gave it.
Seen = Callable[[Registration, "Turn", int, GradientSnapshot | None, tuple[Any, ...]], None]


class Turn:
    """The hooks of one place run, in one backward: those that are still due, and the gradient as the last left it."""

    __slots__ = ("call", "due", "look", "node", "observed", "thread")

    def __init__(
        self, call: BackwardCall, thread: int, due: Due, observed: Observed | None, look: GradientSnapshot
    ) -> None:
        node = current_node()
        token = None if node is None else token_of(node)
        self.call, self.thread, self.due, self.observed = call, thread, due, observed
        self.node = None if token is None or call.walked is None else call.walked.numbers.get(token.uid)
        self.look = look


class Observed:
    """A dict of hooks with observers of ours in it; `behind` are the hooks that have one behind them."""

    __slots__ = ("behind", "hooks", "keys", "uses")

    def __init__(self, hooks: Any) -> None:
        self.hooks = weakref.ref(hooks)
        self.keys: list[_Key] = []
        self.behind: set[Any] = set()
        self.uses = 0  # backward calls that need them


class _Key:
    """The key of an observer in a dict of hooks: equal to nothing else."""

    __slots__ = ()


class Observers:
    """Places observers, and tells which hooks they saw."""

    def __init__(self, context: Context, measured: bool, running: Callable[[], BackwardCall | None], seen: Seen):
        self._threads, self._faults, self._measured = context.threads, context.faults, measured
        self._running, self._seen = running, seen
        self._registered: dict[tuple[int, Any], Registration] = {}  # (dict, key) -> registration
        self._observed: dict[int, Observed] = {}  # by the identity of the dict
        self._placed: dict[int, list[Observed]] = {}  # backward -> the dicts that it has put observers in
        self._late: dict[Registration, Observed] = {}  # hooks that come while a backward runs, by any thread
        self._turns: dict[tuple[int, int], Turn] = {}  # (backward, place) -> the last time that its hooks ran
        self._far = DeviceStatistics()
        self.off = False

    def place(self, backward: int, dicts: Iterable[Any], registered: dict[tuple[int, Any], Registration]) -> None:
        """Put observers into dicts of hooks, for a backward that begins."""
        self._registered = registered
        self._place_behind_late()
        placed = self._placed[backward] = []
        for hooks in dicts:
            observed = self._of(hooks)
            if observed is None:
                observed = self._observed[id(hooks)] = Observed(hooks)
                self._use(observed, placed)
                self._fill(observed, hooks)
            else:
                self._use(observed, placed)

    def _of(self, hooks: Any) -> Observed | None:
        observed = self._observed.get(id(hooks))
        return None if observed is None or observed.hooks() is not hooks else observed

    def _use(self, observed: Observed, placed: list[Observed]) -> None:
        observed.uses += 1
        placed.append(observed)

    def _fill(self, observed: Observed, hooks: Any) -> None:
        """Put an observer before the first hook of a dict and after each."""
        first = _Key()
        observed.keys.append(first)
        together: dict[Any, Any] = {first: self._before_dict(observed, first)}
        there = hooks.copy()  # another thread may put a hook in meanwhile: it stays
        for key, hook in there.items():
            together[key] = hook
            together[self._key_behind(observed, key)] = self.behind(id(observed), key)
        try:
            for key in there:  # torch reads the order in which keys were put in: move_to_end does not change that
                hooks.pop(key, None)
        finally:
            hooks.update(together)

    def _key_behind(self, observed: Observed, key: Any) -> _Key:
        ours = _Key()
        observed.keys.append(ours)
        observed.behind.add(key)
        return ours

    def take_away(self, backward: int) -> None:
        """Take away the observers of a backward, unless another one that runs uses them, too."""
        placed = self._placed.get(backward, [])
        while placed:
            observed = placed[-1]
            hooks = observed.hooks()
            if observed.uses == 1 and hooks is not None:
                for ours in observed.keys:
                    hooks.pop(ours, None)
            placed.pop()  # the rest needs no call that a signal handler could interrupt
            observed.uses -= 1
        self._placed.pop(backward, None)
        for key, observed in self._observed.copy().items():
            if not observed.uses:
                self._observed.pop(key, None)
        if not self._placed:
            self._late = {}
        for place in [place for place in list(self._turns) if place[0] == backward]:
            self._turns.pop(place, None)

    # hooks that are registered while a backward runs

    def expect(self, hooks: Any, registration: Registration) -> None:
        """A hook is about to be put into a dict: it may have its turn in a backward that runs already."""
        self._place_behind_late()
        if not self._placed:
            return
        observed = self._of(hooks)
        if observed is None:
            observed = self._observed[id(hooks)] = Observed(hooks)
            for placed in list(self._placed.values()):
                self._use(observed, placed)
            first = _Key()
            observed.keys.append(first)
            hooks[first] = self._before_dict(observed, first)
        self._late[registration] = observed

    def _place_behind_late(self) -> None:
        """Now that they are in their dicts, put an observer behind each."""
        for registration, observed in self._late.copy().items():
            hooks = observed.hooks()
            if hooks is not None and registration.key not in hooks:
                continue
            mine = self._late.pop(registration, None)  # else another thread that registers a hook sees to it
            if mine is not None and hooks is not None and observed.uses:
                hooks[self._key_behind(observed, registration.key)] = self.behind(id(observed), registration.key)

    # what the observers see

    def _before_dict(self, observed: Observed, first: _Key) -> Callable[..., None]:
        """Before the hooks of a dict: those that stand behind it now are the ones that torch runs."""

        def due() -> Due:
            hooks = observed.hooks()
            keys = iter(() if hooks is None else list(hooks))
            for key in keys:
                if key is first:
                    break
            return [(key, self._registered.get((id(hooks), key))) for key in keys if type(key) is not _Key]

        return self.before(id(observed), due, observed)

    def before(self, place: int, due: Callable[[], Due], observed: Observed | None = None) -> Callable[..., None]:
        """What stands before the hooks of a place; `due` tells which ones."""

        def begins(arguments: tuple[Any, ...]) -> Turn | None:
            call, thread = self._running(), self._threads.current
            if call is None or call.walked is None:
                return None
            former = self._turns.pop((call.number, place), None)
            if former is not None:
                self._settle(former, False)
            turn = Turn(call, thread.number, due(), observed, self._look(arguments))
            self._turns[call.number, place] = turn  # whole: a signal handler may raise before
            return turn

        return self._guarded(begins)

    def behind(self, place: int, key: Any) -> Callable[..., None]:
        """What stands behind one hook of a place."""

        def ends(arguments: tuple[Any, ...]) -> Turn | None:
            call = self._running()
            turn = None if call is None else self._turns.get((call.number, place))
            if turn is None or all(one != key for one, _ in turn.due):
                return turn  # it was removed before its turn
            while (following := turn.due.pop(0))[0] != key:
                self._unseen(turn, following[1])
            registration, before, now = following[1], turn.look, self._look(arguments)
            if registration is not None:
                self._seen(registration, turn, change(before.identity, now.identity), now, arguments)
            turn.look = now
            return turn

        return self._guarded(ends)

    def _look(self, arguments: tuple[Any, ...]) -> GradientSnapshot:
        return GradientSnapshot(arguments[0], self._threads.current if self._measured else None, self._far)

    def _guarded(self, look: Callable[[tuple[Any, ...]], Turn | None]) -> Callable[..., None]:
        def observe(*arguments: Any) -> None:
            if self.off:
                return
            try:
                turn = look(arguments)
                self._place_behind_late()
                if turn is not None:
                    turn.look.ended = time.perf_counter()  # the next hook begins here
            except Exception as error:
                self._faults.note("hooks", error)

        skip(observe)
        return observe

    def _unseen(self, turn: Turn, registration: Registration | None, changed: int = UNSEEN) -> None:
        """A hook has run, or begun to, and no observer stood behind it."""
        if registration is not None:
            self._seen(registration, turn, changed, None, ())

    def settle(self, call: BackwardCall) -> None:
        """A backward is over: tell of the hooks that had begun, and have read what devices measured."""
        turns = [turn for (number, _), turn in self._turns.copy().items() if number == call.number]
        last = {turn.thread: turn for turn in turns}
        for turn in turns:
            self._settle(turn, call.failed and last[turn.thread] is turn)
        self._far.read()

    def _settle(self, turn: Turn, failed: bool) -> None:
        """Tell of those that nothing stood behind; of a turn that failed the first has begun, and no other."""
        for key, registration in turn.due[: 1 if failed else None]:
            raised = failed and (turn.observed is None or key in turn.observed.behind)
            self._unseen(turn, registration, RAISED if raised else UNSEEN)
        turn.due = []
