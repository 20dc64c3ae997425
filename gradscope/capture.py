"""The front door of recording: enters the probes around a run and streams what they see into one `.gscope` file.

`with gradscope.record("run.gscope"): ...` is the library's form; the command line runs a whole program in it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType

from gradscope import bounds
from gradscope.compilers.watches import watches
from gradscope.errors import UsageError
from gradscope.launch import program
from gradscope.launch.run_facts import facts, main_threads_place, switches
from gradscope.model.capabilities import CAPABILITIES, OF_PROBES
from gradscope.model.detail import Detail
from gradscope.model.limits import TENSORS, Limits
from gradscope.model.torch_part import Lack
from gradscope.model.window import Window
from gradscope.probes.core.context import Context, Options
from gradscope.probes.core.faults import Faults, described
from gradscope.probes.core.probe import Guest
from gradscope.probes.core.threads import Threads
from gradscope.probes.operators.partial_blocks import Tail
from gradscope.probes.running import RunningProbes, Visitor, new_context
from gradscope.store.compiled_tables import write_compiled
from gradscope.store.joint_tables import write_joint
from gradscope.store.origin import whose
from gradscope.store.writer import Writer
from gradscope.torch_internals import lacks

EVERY_STEP = Window()
NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Summary:
    """What a recording came to, for the line at the end of a run. `size` is bytes, `seconds` the run's time."""

    path: Path
    backwards: int
    nodes: int
    size: int
    seconds: float
    faults: dict[tuple[str, str], int] = field(default_factory=dict)
    failure: str | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    switched_off: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = ()
    is_empty: bool = False  # nothing happened: no file is left, unless one was asked for


Invitation = Callable[[Threads, Faults], Guest]  # the debugger's


class Recorder:
    """Records from `start` to `stop`. One at a time in a process."""

    running: Recorder | None = None

    def __init__(
        self,
        path: Path,
        detail: Detail = Detail.OPS,
        window: Window = EVERY_STEP,
        limits: Limits = NO_LIMITS,
        *,
        tensors: int | None = None,
        overwrite: bool = False,
        late: bool = False,
        keep_empty: bool = True,
        joint: bool = False,
        compiled_autograd: bool = False,
        watch_all: bool = False,
        guest: Invitation | None = None,
        steps_before: int = 0,
        awaited: frozenset[str] = frozenset(),
    ) -> None:
        """Create the recording; `late`: when there is something in it. One in which nothing happened is removed at the
        end unless `keep_empty`. `tensors`: how many bytes of tensors to store, None for no tensors at all. `joint`:
        the joint graphs of what is compiled, too. `compiled_autograd`: run backward calls under it. `watch_all`: see
        the operators of every backward call, also of those that repeat. `steps_before`: how many steps the program has
        done already. `awaited`: tables without which a late one is not created, as the Writer takes them.

        Raises UsageError when it cannot be written, or when this torch lacks a part that is needed.
        """
        _refuse_a_second()
        options = {"joint": joint, "compiled autograd": compiled_autograd, "stored tensors": tensors is not None}
        lacks.require(
            *(name for name, wanted in options.items() if wanted),
            *(["torch.compile"] if joint or compiled_autograd else []),
        )
        self.lacks = lacks.of_level(Detail(detail).value)
        self.path, self.detail, self._window, self._limits = path, Detail(detail), window, limits
        made = {"overwrite": overwrite, "late": late, "keep_empty": keep_empty}
        self.writer = Writer(path, **made, limit=limits.size, awaited=awaited)
        # A child that may never call backward keeps to one thread until it has: it may fork in turn.
        self._beats_at_once = not awaited or "block" in awaited
        self._tensors, self._guest = tensors, guest
        self._watch_all = watch_all or tensors is not None or guest is not None or joint or compiled_autograd
        self._steps_before = steps_before
        self._joint, self._compiled_autograd = joint, compiled_autograd
        self.command: tuple[str, ...] | None = None  # what was typed after `python`
        self._faults = Faults(self.writer)
        self._probes: RunningProbes | None = None
        self._begun = time.monotonic()  # the clock on the wall may be set meanwhile
        self._stopped = self.abandoned = False

    def start(self) -> None:
        """Enter the probes. Raises UsageError when another recording runs; what else goes wrong is a fault."""
        _refuse_a_second()
        Recorder.running = self
        self._begun = time.monotonic()
        try:
            self.writer.set_run(
                {**facts(self.detail.value, time.time(), self.command), "lacks": [asdict(one) for one in self.lacks]}
            )
            if self._steps_before:
                self.writer.set_run({"steps_before": self._steps_before})
            self.writer.commit()
            self._enter_probes()
        except Exception as error:
            self._faults.note("recorder", error)

    def _enter_probes(self) -> None:
        options = Options(
            detail=self._possible_detail(),
            lacking=frozenset(lack.capability for lack in self.lacks),
            watch_all=self._watch_all,
            tensors=self._tensors,
            folder=self.writer.path.parent,
        )
        overhead, before = self._limits.overhead, self._steps_before
        context = new_context(self.writer, self._faults, options, self._window, overhead, before)
        context.stacks.anchors.add(id(program.execute.__code__))
        self._probes = RunningProbes(context)
        self._probes.enter(self._visitors, self._beat, self._beats_at_once)

    def _possible_detail(self) -> Detail:
        """What was asked for, as far as torch allows."""
        lacking = {lack.capability for lack in self.lacks}
        if "operators" in lacking:
            return Detail.NODES
        return min(self.detail, Detail.OPS, key=list(Detail).index) if "values" in lacking else self.detail

    def _visitors(self, context: Context) -> Iterator[Visitor]:
        """What looks on at the compilers, and the debugger."""
        writer, faults = self.writer, self._faults
        joint = partial(write_joint, writer) if self._joint else None
        compiled = partial(write_compiled, writer) if self._compiled_autograd else None
        yield from watches(joint, compiled, faults.note, whose, context.threads)
        if self._guest is not None:
            guest = self._guest(context.threads, faults)
            context.events.backward.append(guest)
            yield "guest", guest

    def _beat(self, tails: Callable[[], Iterator[Tail]]) -> None:
        self.writer.beat({"duration": time.monotonic() - self._begun, "at": main_threads_place()}, tails)

    def keep(self, path: Path, why: str) -> bool:
        """Leave a copy of what is recorded now, as of a run that ends here; says whether there was anything.

        Raises OSError or sqlite3.Error when the disk does not take it.
        """
        end = {"ended": True, "status": None, "exception": None, "duration": time.monotonic() - self._begun}
        more = {"trigger": why, "lacks": [asdict(one) for one in self._lacks()], "switches": switches()}
        return self.writer.keep(path, {**end, **more})

    def stop(self, error: BaseException | None = None, status: int | None = None) -> Summary:
        """Leave the probes and close the recording; again does nothing."""
        seconds = time.monotonic() - self._begun
        if not self._stopped:
            self._stopped = True
            Recorder.running = None
            if self._probes is not None:
                if error is not None:
                    self._probes.note(error)
                self._probes.leave()
            text = None if error is None else described(error)
            try:
                end = {"ended": True, "status": status, "exception": text, "duration": seconds}
                self.writer.close({**end, "lacks": [asdict(one) for one in self._lacks()], "switches": switches()})
            except Exception as fault:
                self._faults.note("recorder", fault)
        backwards, nodes = (0, 0) if self._probes is None else self._probes.counts()
        size = self.writer.size()
        faults, failure, dropped = self.writer.faults, self.writer.failure, self.writer.dropped
        off, empty = tuple(self._faults.switched_off), self.writer.is_empty
        return Summary(self.path, backwards, nodes, size, seconds, faults, failure, dropped, off, self._lacks(), empty)

    def _lacks(self) -> tuple[Lack, ...]:
        """What torch lacks, and what was switched off because it went on failing."""
        known = {lack.capability for lack in self.lacks}
        failing = [
            OF_PROBES[probe] for probe in self._faults.switched_off if OF_PROBES.get(probe) not in (None, *known)
        ]
        reason = "gradscope failed there again and again, and switched it off"
        return (*self.lacks, *(Lack(name, CAPABILITIES[name].lost, reason) for name in failing))

    def abandon(self) -> None:
        """In a forked child: leave the probes, and the parent's file alone."""
        self._stopped = self.abandoned = True
        Recorder.running = None
        self.writer.abandon()
        if self._probes is not None:
            self._probes.leave()


class record:
    """Record what autograd does inside a `with` block. `.summary` says afterwards what the recording came to."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        detail: str = "ops",
        steps: str | None = None,
        keep_last: int | None = None,
        max_size: str | None = None,
        max_overhead: str | None = None,
        tensors: bool = False,
        tensors_limit: int | str = TENSORS,
        watch_all: bool = False,
        overwrite: bool = False,
    ) -> None:
        """`steps` is "A:B", `max_size` "500MB", `max_overhead` "20%", `tensors_limit` bytes or "500MB".
        `watch_all` sees the operators of every backward call, also of those that repeat.

        Raises UsageError when an argument is wrong, and when the file exists (unless `overwrite`)
        or cannot be written.
        """
        if detail not in [one.value for one in Detail]:
            raise UsageError(f"there is no detail {detail!r}", "nodes, ops or full")
        limit = bounds.tensor_limit(tensors_limit) if tensors else None
        given = bounds.window(steps, keep_last), bounds.limits(max_size, max_overhead)
        self._recorder = Recorder(
            Path(path), Detail(detail), *given, tensors=limit, watch_all=watch_all, overwrite=overwrite
        )
        self.summary: Summary | None = None

    def __enter__(self) -> record:
        self._recorder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.summary = self._recorder.stop(error)


def _refuse_a_second() -> None:
    running = Recorder.running
    if running is not None:
        raise UsageError(
            f"this process is being recorded already, into {running.path}",
            "one recording at a time: gradscope trace and GRADSCOPE_TRACE record all of it, gradscope.record a part",
        )


def _before_fork() -> None:
    if Recorder.running is not None:
        Recorder.running.writer.hold()


def _in_parent() -> None:
    if Recorder.running is not None:
        Recorder.running.writer.let_go()


def _in_child() -> None:
    if Recorder.running is not None:
        Recorder.running.abandon()


os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
