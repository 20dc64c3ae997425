"""Messages between an armed program and those who ask it: one line of JSON each."""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any

LONGEST = 65_536  # bytes
_CREDENTIALS = struct.Struct("3i")  # process, user, group


def written(message: dict[str, Any]) -> bytes:
    """A message as it is sent."""
    return json.dumps(message).encode() + b"\n"


def read(line: bytes) -> dict[str, Any]:
    """A message that has come. Raises ValueError when it is none."""
    try:
        message = json.loads(line)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(message, dict):
        raise ValueError("it is no object of JSON")
    return message


def is_of_this_user(connection: socket.socket) -> bool:
    """Whether this user's process is at the other end. Where the system does not say, the folder keeps others out."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(told)
    return bool(user == os.getuid())
