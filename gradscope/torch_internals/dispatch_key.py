"""Stands in torch's dispatcher under a key of its own, between autograd and the kernels.

The surprise: a dispatch mode stands there as well, but in many places torch asks whether there is one, and then
computes otherwise. The key `Fake` is torch's, nothing of torch stands under it, and nobody asks for it: what stands
there is called for the operators of every thread that has the key switched on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.find import bound
from gradscope.torch_internals.guards import HEARD, no_function_of_classes, unprofiled

# Is given the operator's name, the keys that called, and its arguments.
Listener = Callable[[str, Any, tuple[Any, ...], dict[str, Any]], Any]

_parse: Any = bound("torch._C._dispatch_key_parse", lambda name: None)
_FAKE, _PYTHON = _parse(HEARD), _parse("Python")
_switch: Any = bound("torch._C._dispatch_tls_set_dispatch_key_included")
_is_on: Any = bound("torch._C._dispatch_tls_is_dispatch_key_included")
_is_excluded: Any = bound("torch._C._dispatch_tls_is_dispatch_key_excluded")
_takes_numbers: Any = bound("torch._C._should_allow_numbers_as_tensors")
_all_names: Any = bound("torch._C._dispatch_get_all_op_names")
_library: Any = bound("torch._C._dispatch_library")
_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}  # of a number's tensor

_REFUSED = "Expected a value of type"  # what torch says of an argument

_call_from_the_program: Callable[[Any], Any] | None = None
_left: dict[int, Any] = {}
_runners: dict[str, Any] = {}
_libraries: dict[str, Any] = {}  # for good: a thread that still has the key switched on must find something there


def switch(on: bool) -> None:
    """Have the operators of this thread heard or not; what torch runs for it elsewhere takes that over."""
    _switch(_FAKE, on)


def is_on() -> bool:
    """Whether the operators of this thread are heard."""
    return bool(_is_on(_FAKE))


def without_it(run: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Run something that is not heard."""
    if not is_on():
        return run(*arguments, **keywords)
    try:
        switch(False)
        return run(*arguments, **keywords)
    finally:
        switch(True)


def looks_away() -> bool:
    """Whether torch runs operators for itself: it asks no mode and no subclass then, and we do not look either."""
    return bool(_is_excluded(_PYTHON))


def listen(listener: Listener | None) -> None:
    """Hear operators with this from now on; with None they are passed on."""
    global _listener
    _listener = pass_on if listener is None else listener
    if not _libraries:
        skip(_heard, _heard_late, pass_on, without_it)
        _libraries["_"] = _library("IMPL", "_", "")
        _libraries["_"].fallback(HEARD, _heard_late, True)
        for name in _all_names():
            _register(name)


def call_as(from_the_program: Callable[[Any], Any]) -> None:
    """Have torch's functions that run operators called through what this makes of each of them."""
    global _call_from_the_program
    _call_from_the_program = from_the_program
    _runners.clear()


def listening() -> Listener:
    """What hears them now."""
    return _listener


def _register(name: str) -> None:
    """Stand before one operator. The fallback alone does not do: torch finds none for tensors of Python classes."""
    namespace, _, rest = name.partition("::")
    if namespace not in _libraries:
        _libraries[namespace] = _library("IMPL", namespace, "")
    _libraries[namespace].impl(rest, HEARD, partial(_heard, name), True)


def _heard(name: str, keys: Any, *arguments: Any, **keywords: Any) -> Any:
    return _listener(name, keys, arguments, keywords)


def _heard_late(keys: Any, operator: Any, *arguments: Any, **keywords: Any) -> Any:
    """An operator that the program has defined since."""
    name = operator.name()
    _register(name)
    return _listener(name, keys, arguments, keywords)


def pass_on(name: str, keys: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Run an operator as if nobody had heard it."""
    run = _runners.get(name) or runner(name)
    return run(below(keys), *arguments, **keywords)


_listener: Listener = pass_on


def below(keys: Any) -> Any:
    """The keys that are left after ours. What torch offers for it is slower than the rest together."""
    raw = keys.raw_repr()
    left = _left.get(raw)
    if left is None:
        left = _left[raw] = keys.remove(_FAKE)
    return left


def operator_of(name: str) -> Any:
    """The operator that the dispatcher calls so."""
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")


def runner(name: str) -> Any:
    """What runs an operator with the keys that are left: `run(keys, *arguments, **keywords)`.

    The surprise: torch hands us a Python number for a tensor that it made of one. Only the operators of arithmetic take
    it back; for others it has to be a tensor again.
    """
    operator = operator_of(name)
    redispatch, called = operator._handle.redispatch_boxed, operator._op
    if _call_from_the_program is not None:
        redispatch, called = map(_call_from_the_program, (redispatch, called))
    tensors = [
        (place, one.name)
        for place, one in enumerate(operator._schema.arguments)
        if str(one.type) in ("Tensor", "Optional[Tensor]")
    ]
    last = max((place for place, _ in tensors), default=-1) + 1
    is_number = _DTYPES.keys()

    def run_arithmetic(keys: Any, *arguments: Any, **keywords: Any) -> Any:
        if is_number.isdisjoint(map(type, arguments[:last])):
            return redispatch(keys, *arguments, **keywords)
        with unprofiled(), no_function_of_classes():  # it has been profiled, and they have been asked
            return without_it(called, *arguments, **keywords)

    def run(keys: Any, *arguments: Any, **keywords: Any) -> Any:
        try:
            return redispatch(keys, *arguments, **keywords)
        except RuntimeError as error:  # or what a signal handler raised
            if not (_REFUSED in str(error) and _has_numbers(tensors, arguments, keywords)):
                raise
        with unprofiled():
            return redispatch(keys, *without_it(_as_tensors, tensors, arguments), **keywords)

    if _takes_numbers(operator._schema.name.partition("::")[2]):
        run = run_arithmetic
    skip(run)
    _runners[name] = run
    return run


def _has_numbers(tensors: list[tuple[int, str]], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    given = (arguments[place] if place < len(arguments) else keywords.get(name) for place, name in tensors)
    return any(type(one) in _DTYPES for one in given)


def _as_tensors(tensors: list[tuple[int, str]], arguments: tuple[Any, ...]) -> list[Any]:
    places = {place for place, _ in tensors}
    return [
        torch.scalar_tensor(one, dtype=_DTYPES[type(one)]) if place in places and type(one) in _DTYPES else one
        for place, one in enumerate(arguments)
    ]


def without_ours(original: Any) -> Any:
    """What finds the keys of a higher-order operator, which knows nothing of ours: the operators inside are heard."""

    def extract(tensors: Any, mask: Any) -> Any:
        return original(tensors, mask.remove(_FAKE))

    skip(extract)
    return extract
