"""Reads what nodes keep for their backward: no unpack hook of the script runs, and no version is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gradscope.signals import let_through
from gradscope.torch_internals.tensors import HAS_SAVED_DATA, unpack_saved

_RAW = "_raw_saved_"
_TENSORS = "_raw_saved_tensors"  # those of a custom Function
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
_names: dict[type, tuple[str, ...]] = {}


def saved_of(node: Any) -> Iterator[tuple[str, Any]]:
    """Name and torch's SavedTensor of all that a node keeps; nothing once it has been freed."""
    kind = type(node)
    names = _names.get(kind)
    if names is None:
        names = _names[kind] = tuple(name for name in dir(kind) if HAS_SAVED_DATA and name.startswith(_RAW))
    for name in names:
        try:
            value = getattr(node, name)
        except RuntimeError as error:  # freed
            let_through(error)
            return
        if type(value) is not tuple:
            if value is not None:
                yield name.removeprefix(_RAW), value
            continue
        for position, one in enumerate(value):
            if one is not None:
                yield f"{name.removeprefix(_RAW)}[{position}]", one


def moved(node: Any, name: str, saved: Any) -> tuple[int, int] | None:
    """The version at which a tensor was saved and its version now, None when torch does not mind.

    Torch tells the first only in the words of the error that it raises for it.
    """
    if saved.unpack_hook is not None:
        return None
    try:
        _unpack(node, name, saved)
    except RuntimeError as error:
        let_through(error)
        found = _VERSIONS.search(str(error))
        if found is None or not _means(node, name, saved, version := int(found[1])):
            return None
        return int(found[2]), version
    return None


def _means(node: Any, name: str, saved: Any, version: int) -> bool:
    """Whether torch's refusal is of this tensor: where all of a custom Function are asked at once, versions tell."""
    if unpack_saved is not None or not name.startswith("tensors["):
        return True
    alike = [one for one in getattr(node, _TENSORS) if one is not None and one.data._version == version]
    return len(alike) == 1 and saved.data._version == version


def is_freed(node: Any) -> bool | None:
    """Whether a node has given up what it saved; None when nothing tells, because it saved nothing."""
    kind = type(node)
    told = None
    for name in [name for name in dir(kind) if HAS_SAVED_DATA and name.startswith(_RAW)]:
        try:
            value = getattr(node, name)
            for one in value if type(value) is tuple else (value,):
                if one is not None and one.data is not None:
                    return False
            if value is not None and name != _TENSORS and not _answers(node, name):
                told = True
        except RuntimeError as error:
            let_through(error)
            return True
    return told


def _answers(node: Any, name: str) -> bool:
    """Whether a node still hands out what it saved, if it ever saved it."""
    try:
        getattr(node, name.replace("_raw", "", 1))
    except RuntimeError as error:
        let_through(error)
        return "second time" not in str(error)
    return True


def _unpack(node: Any, name: str, saved: Any) -> None:
    """Ask for a saved tensor as the node's own backward does, so that its version is checked."""
    if not name.startswith("tensors["):
        getattr(node, "_saved_" + name.partition("[")[0])
    elif unpack_saved is not None:
        unpack_saved(saved)
    elif all(one is None or one.unpack_hook is None for one in getattr(node, _TENSORS)):
        node.saved_tensors  # noqa: B018 -- the property checks them all
