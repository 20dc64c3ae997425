"""Answers what other processes ask, in a thread that sleeps until one does.

As with the heartbeat, the thread is started below `threading`, so that a program which joins all of its threads never
sees it, and it is gone while the process forks; a child has neither thread nor socket.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import selectors
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradscope.channel import address
from gradscope.channel.messages import LONGEST, is_of_this_user, read, written
from gradscope.errors import UsageError

_MOST = 64  # connections at a time
_PATIENCE = 2.0  # seconds to wait for an answer that is being given


class Peer:
    """One who asks, as long as the connection lasts."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.waiting = connection, b""
        connection.setblocking(False)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message, from any thread; who reads nothing, or has gone, misses it."""
        with contextlib.suppress(OSError):
            self.connection.sendall(written(message))


Answer = Callable[[dict[str, Any], Peer], dict[str, Any] | None]


class Listener:
    """Listens for this process while it is started. `answer` is called in the listener's thread, and `left` when
    somebody has gone."""

    def __init__(self, answer: Answer, left: Callable[[Peer], None]) -> None:
        self._answer, self._left = answer, left
        self._path: Path | None = None
        self._selector: selectors.BaseSelector | None = None
        self._server: socket.socket | None = None
        self._peers: list[Peer] = []

    def open(self) -> None:
        """Make the socket and start the thread. Raises UsageError when that cannot be."""
        if not hasattr(socket, "AF_UNIX"):
            raise UsageError("this system has no sockets in the file system, through which a recording is asked for")
        address.made()
        path = address.socket_of(os.getpid())
        path.unlink(missing_ok=True)  # of a process that was killed, and had our number
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            server.bind(str(path))
            path.chmod(0o600)
            server.listen(8)
        except OSError as error:
            server.close()
            raise UsageError(f"cannot listen at {path}: {error}", f"{address.VARIABLE} names another folder") from None
        server.setblocking(False)
        self._path, self._server = path, server
        self.start()

    def start(self) -> None:
        """Start the thread, when there is a socket."""
        if self._server is None:
            return
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        self._ended = _thread.allocate_lock()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._selector.register(self._server, selectors.EVENT_READ)
        for peer in self._peers:
            self._selector.register(peer.connection, selectors.EVENT_READ, peer)
        self._ended.acquire()
        _thread.start_new_thread(self._run, ())

    def stop(self) -> None:
        """End the thread, and leave the socket."""
        if self._selector is None:
            return
        self._waker.send(b"x")
        if self._ended.acquire(timeout=_PATIENCE):
            self._forget_the_thread()

    def close(self) -> None:
        """End the thread, and remove the socket."""
        self.stop()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
        self._close_connections()

    def abandon(self) -> None:
        """In a forked child, which has no such thread: let go of the parent's socket, and leave it there."""
        self._forget_the_thread()
        self._close_connections()

    def _forget_the_thread(self) -> None:
        if self._selector is not None:
            self._selector.close()
            self._woken.close()
            self._waker.close()
            self._selector = None

    def _close_connections(self) -> None:
        for one in [*(peer.connection for peer in self._peers), *([self._server] if self._server else ())]:
            one.close()
        self._peers, self._server, self._path = [], None, None

    def _run(self) -> None:
        selector, server = self._selector, self._server
        assert selector is not None
        assert server is not None
        try:
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._woken:
                        return
                    if key.fileobj is server:
                        self._accept(selector, server)
                    else:
                        self._hear(selector, key.data)
        finally:
            self._ended.release()

    def _accept(self, selector: selectors.BaseSelector, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection, _ = server.accept()
            peer = Peer(connection)
            if not is_of_this_user(connection):
                peer.tell({"refused": "this program is another user's"})
                connection.close()
            elif len(self._peers) >= _MOST:
                peer.tell({"refused": "too many ask already"})
                connection.close()
            else:
                self._peers.append(peer)
                selector.register(connection, selectors.EVENT_READ, peer)

    def _hear(self, selector: selectors.BaseSelector, peer: Peer) -> None:
        try:
            more = peer.connection.recv(LONGEST)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        peer.waiting += more
        *lines, peer.waiting = peer.waiting.split(b"\n")
        for line in lines:
            self._answer_to(line, peer)
        if not more or len(peer.waiting) > LONGEST:
            selector.unregister(peer.connection)
            self._peers.remove(peer)
            self._left(peer)
            peer.connection.close()

    def _answer_to(self, line: bytes, peer: Peer) -> None:
        try:
            answer = self._answer(read(line), peer)
        except ValueError as error:  # what was asked is none of what can be asked
            answer = {"refused": str(error)}
        except Exception as error:  # ours: it must not end the thread
            answer = {"refused": f"this failed in gradscope: {type(error).__name__}: {error}"}
        if answer is not None:
            peer.tell(answer)
