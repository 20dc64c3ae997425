"""An armed program: waits for requests, and records a window of steps for each, into a file of its own.

Everything that is entered into the program happens in the thread that trains, between two steps; the listener's thread
only says what is wanted.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradscope.arming.boundary import NEVER, StepBoundary
from gradscope.arming.files import free_path
from gradscope.arming.triggers import Triggers
from gradscope.capture import Recorder, Summary
from gradscope.channel.listener import Listener, Peer
from gradscope.errors import GradscopeError
from gradscope.model.detail import Detail
from gradscope.model.request import ArmedProgram, RecordRequest
from gradscope.model.trigger import MOST, Trigger
from gradscope.model.window import Window
from gradscope.signals import let_through

MakeRecorder = Callable[..., Recorder]


@dataclass(slots=True)
class _Wanted:
    """A request, who asked (None: a signal, or a trigger, which says `why`), and the recorder once it records."""

    request: RecordRequest
    start: int
    peer: Peer | None
    why: str = ""
    recorder: Recorder | None = None
    thread: int = 0  # that began it, and in which it has to end

    @property
    def end(self) -> int:
        return self.start + self.request.steps


class Armed:
    """Stands where a Recorder does: from `start` to `stop` the program can be asked for recordings."""

    running: Armed | None = None

    def __init__(
        self,
        make: MakeRecorder,
        path: Path,
        request: RecordRequest,
        number: int | None = None,
        wanted: Sequence[Trigger] = (),
        most: int = MOST,
    ) -> None:
        """`make` makes a Recorder of a path and more; `path` is where a recording would go, each window's name is made
        of it. `request`: what the signal `number` asks for, and each of the `wanted` triggers, `most` times together.
        """
        self._make, self._path, self._usual, self._signal = make, path.absolute(), request, number
        self.command: tuple[str, ...] | None = None
        self.abandoned = False
        self.written: list[Summary] = []
        self.reasons: dict[Path, str] = {}  # of those that a trigger asked for
        self.trouble: list[str] = []  # why something that was asked for could not be
        self._wanted: _Wanted | None = None
        self._lock = threading.RLock()  # re-entrant: a signal's handler may come in the middle
        self._triggers = Triggers(wanted, most, self._met)
        self._boundary = StepBoundary(self._between_steps, self._look if wanted else None)
        self._listener = Listener(self._answer, self._left)
        self._is_open = False

    def start(self) -> None:
        """Begin to count steps."""
        Armed.running = self
        self._boundary.put()
        if self._signal is not None and threading.current_thread() is threading.main_thread():
            signal.signal(self._signal, self._on_signal)
        elif self._signal is not None:
            self.trouble.append("the signal can be heard only where torch is imported in the main thread")

    def stop(self, error: BaseException | None = None, status: int | None = None) -> list[Summary]:
        """End what is being recorded, and disarm. Answers with what was recorded."""
        if Armed.running is self:
            Armed.running = None
            wanted, self._wanted = self._wanted, None
            if wanted is not None:
                if wanted.recorder is not None:
                    self._finish(wanted, error, status)
                else:
                    _tell(wanted, {"refused": "the program has ended before that step"})
            self._boundary.restore()  # what the recorder has put back
            self._listener.close()
            if self._triggers.trouble is not None:
                self.trouble.append(self._triggers.trouble)
        return self.written

    def pause(self) -> None:
        """The process forks: end the listener's thread."""
        self._listener.stop()

    def go_on(self) -> None:
        """In the parent, after a fork."""
        if self._is_open:
            self._listener.start()

    def abandon(self) -> None:
        """In a forked child: be as if never armed."""
        self.abandoned, Armed.running = True, None
        self._boundary.due = NEVER
        self._boundary.restore()
        self._listener.abandon()

    # in the listener's thread, or in a signal's handler

    def _answer(self, message: dict[str, Any], peer: Peer) -> dict[str, Any]:
        asked = message.get("ask")
        if asked == "state":
            return self._state().message()
        if asked == "withdraw":
            self._left(peer)
            return {"withdrawn": True}
        if asked != "record":
            raise ValueError("there are the requests state, record and withdraw")
        return self._accept(RecordRequest.read(message), peer)

    def _state(self) -> ArmedProgram:
        wanted, environment = self._wanted, os.environ
        rank, world = environment.get("RANK", ""), environment.get("WORLD_SIZE", "")
        is_rank = rank.isdigit() and world.isdigit()
        meeting = [environment.get(name, "") for name in ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")]
        recorder = None if wanted is None else wanted.recorder
        return ArmedProgram(
            pid=os.getpid(),
            program=self._path.name.partition(".")[0],
            step=self._boundary.step,
            rank=int(rank) if is_rank else None,
            world_size=int(world) if is_rank else None,
            group=" ".join([*meeting, world]) if is_rank else None,
            recording=None if recorder is None else str(recorder.writer.path),
            waiting=wanted is not None and recorder is None,
        )

    def _accept(self, request: RecordRequest, peer: Peer | None) -> dict[str, Any]:
        with self._lock:
            if self._wanted is not None:
                return {"refused": "it is being recorded already", "busy": True}
            if Recorder.running is not None:
                return {"refused": f"it records itself already, into {Recorder.running.path}", "busy": True}
            earliest = self._boundary.step + 1
            start = earliest if request.at is None else request.at
            if start < earliest:
                return {"refused": f"step {start:,} is over: it is at step {earliest - 1:,}", "late": True}
            self._wanted = _Wanted(request, start, peer)
            self._boundary.due = start
        return {"accepted": start}

    def _left(self, peer: Peer) -> None:
        """Who asked has gone: what has not begun is not wanted any more."""
        with self._lock:
            wanted = self._wanted
            if wanted is not None and wanted.peer is peer and wanted.recorder is None:
                self._wanted, self._boundary.due = None, NEVER

    def _on_signal(self, number: int, frame: Any) -> None:
        if not self.abandoned:
            self._accept(self._usual, None)

    # in the thread that trains

    def _look(self, step: int, outputs: Sequence[Any], raised: BaseException | None) -> None:
        """Step number `step` has ended: a trigger may be met, unless it is recorded anyway."""
        wanted = self._wanted
        if wanted is not None and wanted.recorder is not None:
            self._triggers.pass_over()
        else:
            self._triggers.after(step, outputs, raised)

    def _met(self, step: int, why: str) -> bool:
        with self._lock:
            if self._wanted is not None or Recorder.running is not None:
                return False
            self._wanted = _Wanted(self._usual, step + 1, None, why)
            self._boundary.due = step + 1  # which begins as soon as this look has ended
        return True

    def _between_steps(self, step: int) -> None:
        """Step number `step` begins."""
        try:
            self.listen()
            with self._lock:
                wanted = self._wanted
                if wanted is None:
                    return
                if wanted.recorder is None:
                    self._begin(wanted, step)
                elif step > wanted.end and threading.get_ident() == wanted.thread:
                    self._finish(wanted, None, None)
        except Exception as error:
            let_through(error)
            self._fail(error)

    def listen(self) -> None:
        """Listen, from the first backward on unless it is called before: a launcher, which runs none, does not.

        Raises UsageError when that cannot be; again does nothing.
        """
        if self._is_open:
            return
        self._is_open = True
        with self._lock:
            self._boundary.due = NEVER if self._wanted is None else self._wanted.start
        self._listener.open()

    def _begin(self, wanted: _Wanted, step: int) -> None:
        wanted.start, wanted.thread = step, threading.get_ident()
        self._boundary.due = wanted.end + 1  # the update that follows the last backward is over by then
        path = free_path(self._path, step)
        window = Window(step, wanted.end)
        recorder = self._make(path, Detail(wanted.request.detail), window, steps_before=step)
        recorder.command = self.command
        wanted.recorder = recorder
        recorder.start()
        if wanted.why:
            self.reasons[recorder.writer.path] = wanted.why
            recorder.writer.set_run({"trigger": wanted.why})
        _tell(wanted, {"begun": str(recorder.writer.path), "step": step})

    def _finish(self, wanted: _Wanted, error: BaseException | None, status: int | None) -> None:
        self._wanted, self._boundary.due = None, NEVER
        assert wanted.recorder is not None
        summary = wanted.recorder.stop(error, status)
        self.written.append(summary)
        told: dict[str, Any] = {"backwards": summary.backwards, "nodes": summary.nodes, "size": summary.size}
        told |= {"seconds": summary.seconds, "failure": summary.failure}
        _tell(wanted, {"finished": str(summary.path), **told})

    def _fail(self, error: Exception) -> None:
        """What was asked for cannot be done: say so to who asked, and at the end."""
        sentence = error.sentence if isinstance(error, GradscopeError) else f"{type(error).__name__}: {error}"
        self.trouble.append(sentence)
        wanted, self._wanted, self._boundary.due = self._wanted, None, NEVER
        if wanted is not None:
            _tell(wanted, {"refused": sentence})


def _tell(wanted: _Wanted, message: dict[str, Any]) -> None:
    if wanted.peer is not None:
        wanted.peer.tell(message)


def _before_fork() -> None:
    if Armed.running is not None:
        Armed.running.pause()


def _in_parent() -> None:
    if Armed.running is not None:
        Armed.running.go_on()


def _in_child() -> None:
    if Armed.running is not None:
        Armed.running.abandon()


os.register_at_fork(before=_before_fork, after_in_child=_in_child, after_in_parent=_in_parent)
