"""Hears operators through torch's dispatcher, and steps aside where torch could tell.

The surprise: what passes through Python gets a Python object, and three functions of torch make a tensor of a class
only of one that has none yet. Torch puts dispatch modes away in two of them, and so do we with our key.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradscope.torch_internals.dispatch_key import Listener, is_on, listen, switch, without_it, without_ours
from gradscope.torch_internals.dynamo import has_compiled, skip
from gradscope.torch_internals.find import Replacement, bound

_count_modes: Any = bound("torch._C._len_torch_dispatch_stack")
_CONSTRUCTORS = ("torch.Tensor.__new__", "torch.Tensor._make_subclass", "torch.Tensor.as_subclass")


class Hearing:
    """Has our key switched on, in the thread that enters it and in those that begin."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._places: list[Replacement] = []
        self._off = True
        self._thread = 0  # the one that entered it
        self._is_first_step = True

    def __enter__(self) -> Hearing:
        self._thread, self._off = threading.get_ident(), False
        for name in _CONSTRUCTORS:
            self._put(name, _unheard)
        self._put("torch._ops.key_extractor", without_ours)
        listen(self._listener)
        switch(True)
        return self

    def __exit__(self, *error: object) -> None:
        self._off = True
        switch(False)
        listen(None)
        for place in self._places:
            place.restore()
        self._places.clear()

    def _put(self, name: str, make: Callable[[Any], Any]) -> None:
        place = Replacement(name)
        place.put(make(place.original))
        self._places.append(place)

    @contextmanager
    def in_thread(self) -> Iterator[None]:
        """Hear the operators of a thread that begins."""
        switch(not self._off)
        try:
            yield
        finally:
            switch(False)

    def follow(self, recorded: bool) -> None:
        """Hear nothing in the first thread while nothing is recorded; the others are left as they are.

        The first step is heard in any case: what is compiled in it would be compiled again otherwise.
        """
        if threading.get_ident() == self._thread and not self._off:
            switch(recorded or self._is_first_step or has_compiled())
            self._is_first_step = False

    def is_alone(self) -> bool:
        """Whether the running thread is the first, its operators are heard, and it has no dispatch mode."""
        return threading.get_ident() == self._thread and is_on() and _count_modes() == 0

    def pause(self) -> bool:
        """Hear nothing for a moment, if nobody else listens; answers whether that is so."""
        alone = self.is_alone()
        if alone:
            switch(False)
        return alone

    def resume(self) -> None:
        """Hear again."""
        switch(not self._off)


def _unheard(original: Any) -> Any:
    """A function of torch that runs without our key."""

    @functools.wraps(original)
    def unheard(*arguments: Any, **keywords: Any) -> Any:
        return without_it(original, *arguments, **keywords)

    skip(unheard)
    return unheard
