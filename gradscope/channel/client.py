"""Asks armed programs, and waits for what they answer."""

from __future__ import annotations

import contextlib
import math
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradscope.channel import address
from gradscope.channel.messages import LONGEST, is_of_this_user, read, written
from gradscope.channel.processes import is_anothers, is_there
from gradscope.errors import GradscopeError, NothingCheckedError, UsageError
from gradscope.model.printable import printable
from gradscope.model.request import ArmedProgram, RecordRequest

ANSWER = 10.0  # seconds in which an armed program answers, unless a debugger has stopped it
_ATTEMPTS = 6  # to have all ranks begin with the same step
_GLANCE = 0.1  # seconds over which the ranks' pace is taken
_AHEAD = 0.5  # seconds until the common step: time enough to ask all of them
ARM_IT = "start it with `gradscope trace --arm`, or GRADSCOPE_TRACE=FOLDER/:arm; it listens from its first backward on"


class NotArmed(NothingCheckedError):
    """A process is there, and does not listen."""


class Connection:
    """To one armed program; close it, or use it in a `with`."""

    def __init__(self, pid: int) -> None:
        """Raises UsageError when the process is not armed, or another user's."""
        self.pid, self._waiting = pid, b""
        path = address.socket_of(pid)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            address.check(address.folder())
            self._socket.connect(str(path))
        except BaseException as error:
            self._socket.close()
            raise _why_not(pid, error) from None
        if not is_of_this_user(self._socket):
            self._socket.close()
            raise of_another(pid)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        try:
            self._socket.sendall(written(message))
        except OSError:
            raise self._gone() from None

    def next(self, seconds: float | None = ANSWER) -> dict[str, Any]:
        """The next message; None waits for ever. Raises UsageError when none comes, or when it is a refusal."""
        self._socket.settimeout(seconds)
        while b"\n" not in self._waiting:
            try:
                more = self._socket.recv(LONGEST)
            except TimeoutError:
                raise UsageError(f"process {self.pid} does not answer", "a debugger may have stopped it") from None
            except OSError:
                more = b""
            if not more or len(self._waiting) > LONGEST:
                raise self._gone()
            self._waiting += more
        line, _, self._waiting = self._waiting.partition(b"\n")
        return self._read(line)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message, and wait for the answer."""
        self.send(message)
        return self.next()

    def state(self) -> ArmedProgram:
        """What the program tells of itself."""
        try:
            return ArmedProgram.read(self.ask({"ask": "state"}))
        except ValueError as error:
            raise UsageError(f"process {self.pid} cannot be understood: {error}") from None

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            message = read(line)
        except ValueError as error:
            raise UsageError(f"process {self.pid} cannot be understood: {error}") from None
        if "refused" in message:
            raise Refused(self.pid, message)
        return message

    def _gone(self) -> UsageError:
        return UsageError(f"process {self.pid} has gone", "what it has recorded can be read up to its last commit")


class Refused(UsageError):
    """The program does not do what it was asked for."""

    def __init__(self, pid: int, message: dict[str, Any]) -> None:
        super().__init__(f"process {pid} refuses: {printable(str(message['refused']))}")
        self.is_late = bool(message.get("late"))


@dataclass(frozen=True, slots=True)
class Window:
    """A recording that one program has been asked for. `start` is its first step."""

    connection: Connection
    program: ArmedProgram
    start: int


def armed_programs() -> list[ArmedProgram]:
    """All armed programs of this user that answer; what killed ones have left behind is removed."""
    found = []
    for pid in address.processes():
        with contextlib.suppress(GradscopeError), Connection(pid) as connection:
            found.append(connection.state())
    return found


def group_of(program: ArmedProgram) -> list[ArmedProgram]:
    """The ranks of the same run on this machine, this one among them."""
    if program.group is None:
        return [program]
    return sorted((one for one in armed_programs() if one.group == program.group), key=lambda one: one.rank or 0)


@contextlib.contextmanager
def asked(programs: Sequence[ArmedProgram], request: RecordRequest) -> Iterator[list[Window]]:
    """Ask programs for a recording, all from the same step on; who has not begun when this is left need not begin.

    Raises UsageError when one of them refuses.
    """
    with contextlib.ExitStack() as opened:
        connections = [opened.enter_context(Connection(one.pid)) for one in programs]
        if len(connections) == 1 or request.at is not None:
            starts = [_ask(connection, request) for connection in connections]
        else:
            starts = _agree(connections, request, time.sleep)
        yield [Window(*one) for one in zip(connections, programs, starts, strict=True)]


def _ask(connection: Connection, request: RecordRequest) -> int:
    return int(connection.ask(request.message()).get("accepted", 0))


def _agree(connections: Sequence[Connection], request: RecordRequest, sleep: Callable[[float], None]) -> list[int]:
    """Have all begin with one step that none of them has reached: where one has, all are asked anew for a later one."""
    ahead = _AHEAD
    for attempt in range(_ATTEMPTS):
        first = max(connection.state().step for connection in connections)
        sleep(_GLANCE)
        last = max(connection.state().step for connection in connections)
        at = last + 2 + math.ceil((last - first) / _GLANCE * ahead)
        accepted: list[Connection] = []
        try:
            for connection in connections:
                _ask(connection, replace(request, at=at))
                accepted.append(connection)
            return [at] * len(connections)
        except Refused as error:
            for connection in accepted:
                connection.ask({"ask": "withdraw"})
            if not error.is_late or attempt == _ATTEMPTS - 1:
                raise
            ahead *= 2
    return []


def _why_not(pid: int, error: BaseException) -> BaseException:
    """The sentence for a connection that cannot be."""
    if isinstance(error, ConnectionRefusedError):  # killed: its socket is left
        with contextlib.suppress(OSError):
            address.socket_of(pid).unlink()
    if isinstance(error, PermissionError):
        return of_another(pid)
    if isinstance(error, (FileNotFoundError, ConnectionRefusedError)):
        if not is_there(pid):
            return NothingCheckedError(f"there is no process {pid}")
        if is_anothers(pid):
            return of_another(pid)
        return NotArmed(f"process {pid} is not armed", ARM_IT)
    if isinstance(error, OSError):
        return UsageError(f"process {pid} cannot be asked: {error.strerror}")
    return error


def of_another(pid: int) -> UsageError:
    """The sentence for a process of another user."""
    return UsageError(f"process {pid} is another user's", "only the user who runs a program can record it")
