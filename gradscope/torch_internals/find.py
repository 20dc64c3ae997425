"""Finds torch's private parts by name: values to use, and places where something of ours may stand in."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradscope.model.torch_part import Part
from gradscope.torch_internals.parts import PARTS

_NOTHING_THERE = object()


class Absent:
    """Stands for a part that this torch lacks: whoever uses it although its capability is off, gets an error."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Fail as `__getattr__` does."""
        raise AttributeError(f"this torch has no {self._name}")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"this torch has no {self._name}")

    def __bool__(self) -> bool:
        return False


def find(name: str) -> Any:
    """What a dotted name stands for. Raises ImportError or AttributeError."""
    module, _, rest = name.partition(".")
    found = importlib.import_module(module)
    for part in filter(None, rest.split(".")):
        module = f"{module}.{part}"
        if not hasattr(found, part):
            try:
                importlib.import_module(module)
            except ModuleNotFoundError:
                raise AttributeError(f"{name} ends at {part}") from None
        owner, found = found, getattr(found, part)
        if isinstance(owner, type) and found is getattr(object, part, None):
            raise AttributeError(f"{name} is what every class has")
    return found


def there(part: Part) -> str | None:
    """The first of a part's names that this torch has."""
    for name in (part.name, *part.variants):
        try:
            find(name)
        except (ImportError, AttributeError):
            continue
        return name
    return None


def bound(name: str, otherwise: Any = _NOTHING_THERE) -> Any:
    """A part of the table, under any of its names; `otherwise` where this torch lacks it, by default an `Absent`."""
    found = there(PARTS[name])
    if found is not None:
        return find(found)
    return Absent(name) if otherwise is _NOTHING_THERE else otherwise


class Replacement:
    """A place of the table where something of ours stands for a while. Where torch has no such place, nothing does."""

    def __init__(self, name: str) -> None:
        self._name = there(PARTS[name])
        self._owner, self._attribute = None, ""
        self.original: Any = Absent(name)
        self._own: Any = _NOTHING_THERE  # as the owner keeps it: a static method, say
        if self._name is not None:
            path, _, self._attribute = self._name.rpartition(".")
            self._owner = find(path)
            self.original = getattr(self._owner, self._attribute)
            self._own = vars(self._owner).get(self._attribute, _NOTHING_THERE)

    def put(self, value: Any) -> None:
        """Let something stand in."""
        if self._owner is not None:
            setattr(self._owner, self._attribute, value)

    def restore(self) -> None:
        """Put torch's own back; again does nothing more."""
        if self._owner is None:
            return
        if self._own is not _NOTHING_THERE:
            setattr(self._owner, self._attribute, self._own)
        elif self._attribute in vars(self._owner):
            delattr(self._owner, self._attribute)  # it was inherited


@contextmanager
def replaced(name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """Put `make(original)` in a part's place for a while."""
    place = Replacement(name)
    place.put(make(place.original))
    try:
        yield
    finally:
        place.restore()
