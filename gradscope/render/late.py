"""Writers that load when they write, because text is wanted most and needs none of what draws."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def late(module: str, name: str) -> Callable[..., Any]:
    """The function of that name in a module of this room."""

    def write(*arguments: Any) -> Any:
        return getattr(import_module(f"gradscope.render.{module}"), name)(*arguments)

    return write
