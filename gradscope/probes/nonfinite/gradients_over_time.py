"""Measures the gradients that nodes of one line receive, where a line makes many: a cell that is called in a loop; and,
where there are several ranks, what custom Functions receive and pass on, which may exchange it with others, and what
the products and quotients of a loss pass on, which each rank may divide by a number of its own.

Done in the steps 0, 1, 2, 4, 8, ..., at some of the nodes, by hooks that are taken off when the backward is over. Which
of them follow from each other is found out when the recording is read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.graph.buffer_requests import asks_for_buffers
from gradscope.probes.graph.node_hooks import HookSet
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.torch_internals.dynamo import skip, skip_methods
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled

_LEAST = 4  # nodes of a graph
_MANY = 8  # nodes of a line, fewer of which are no loop worth a look
_MEASURED = 6  # of them
_FEW = 3  # nodes of a custom Function: too few to be taken for a loop
_SCALES = re.compile(r"(Div|Mul|Add|Sub|Neg|ToCopy|View|Squeeze)Backward\d")  # what stands between a loss and its sums
_TERMS = 16  # of a loss
_COMPILED = "CompiledFunctionBackward"  # torch's own, which holds a whole graph
_LINES = 32  # measured in one backward
Place = tuple[int, int]  # a backward and a node in its graph


class GradientsOverTime(Watcher):
    """In a sampled backward: the largest magnitude of what some nodes of each line with many receive."""

    probe = "gradients over time"

    def __init__(self, context: Context) -> None:
        self._sink, self._faults = context.sink, context.faults
        self._nonfinite = context.get(NonfiniteOnHost)
        self._hooks: dict[int, HookSet] = {}  # by backward
        self._far: dict[int, list[tuple[Place, torch.Tensor]]] = defaultdict(list)
        self._count = 0
        skip_methods(GradientsOverTime)
        skip(_leave)

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Put hooks on, when this is one of the steps; none where one may ask for buffers, which torch refuses then."""
        if call.outer is not None or not call.accumulate or call.compiled or call.walked is None:
            return
        count, self._count = self._count, self._count + 1
        if count & (count - 1) or len(call.live) < _LEAST or any(map(asks_for_buffers, call.live)):
            return
        chosen = sorted({*_chosen(call.live), *_of_ranks(call.live)})
        if chosen:
            hooks = self._hooks[call.number] = HookSet(self._enter, _leave)
            hooks.place([(call.number, number) for number in chosen], [call.live[number] for number in chosen])

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Have read what accelerators have measured."""
        asked = ((place, (size,)) for place, size in self._far.pop(call.number, ()))
        self._nonfinite.on_device.ask(asked, self._write)

    def forget(self, call: BackwardCall) -> None:
        """Take the hooks off."""
        self._far.pop(call.number, None)
        hooks = self._hooks.pop(call.number, None)
        if hooks is not None:
            hooks.take_away()

    def _enter(self, hooks: HookSet, number: int, gradients: tuple[Any, ...]) -> None:
        """A node is about to run."""
        if hooks.run is None:
            return
        try:
            with unprofiled(), no_function(), no_dispatch(), no_autograd():
                for gradient in gradients:
                    if isinstance(gradient, torch.Tensor) and gradient.is_floating_point() and gradient.numel():
                        self._measure(hooks.run[number], gradient)
                        return
        except Exception as error:
            self._faults.note(self.probe, error)

    def _measure(self, place: Place, gradient: torch.Tensor) -> None:
        far = is_far(gradient)
        if (far and is_capturing(gradient.device)) or not (far or is_plain(gradient)):
            return
        size = torch.linalg.vector_norm(gradient, float("inf"))
        if far:
            self._far[place[0]].append((place, size))
        else:
            self._write(place, [float(size)])

    def _write(self, place: Place, sizes: list[float]) -> None:
        self._sink.add("node_size", (*place, repr(sizes[0])))


def _chosen(live: list[Any]) -> Iterator[int]:
    """Some nodes of each line that made many, from the first to the last."""
    lines: dict[tuple[type, int], list[int]] = defaultdict(list)
    for number, node in enumerate(live):
        token = token_of(node)
        if token is not None and not hasattr(node, "variable"):
            lines[type(node), token.stack].append(number)
    for numbers in [one for one in lines.values() if len(one) >= _MANY][:_LINES]:
        for at in range(_MEASURED):
            yield numbers[at * (len(numbers) - 1) // (_MEASURED - 1)]


def _of_ranks(live: list[Any]) -> Iterator[int]:
    """The nodes that are of interest where there are several ranks."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        yield from _of_functions(live)
        yield from _terms(live)


def _terms(live: list[Any]) -> Iterator[int]:
    """What the sums and means receive of which a loss is made, and what scales them."""
    places = {id(one): place for place, one in enumerate(live) if not hasattr(one, "variable")}
    waiting = [0] if _SCALES.fullmatch(type(live[0]).__name__) else []
    for place in waiting:  # grows while it is walked
        yield place
        if _SCALES.fullmatch(type(live[place]).__name__):
            following = (places.get(id(one)) for one, _ in live[place].next_functions)
            waiting += [one for one in following if one is not None and one not in waiting][: _TERMS - len(waiting)]


def _of_functions(live: list[Any]) -> Iterator[int]:
    """Some nodes of each custom Function, and what follows on them."""
    own = [(at, one) for at, one in enumerate(live) if isinstance(one, torch.autograd.function.FunctionCtx)]
    own = [(at, one) for at, one in own if type(one).__name__ != _COMPILED]
    places = {id(one): place for place, one in enumerate(live) if not hasattr(one, "variable")} if own else {}
    seen: dict[type, int] = defaultdict(int)
    for number, node in own:
        seen[type(node)] += 1
        if len(seen) <= _LINES and seen[type(node)] <= _FEW:
            following = (places.get(id(one)) for one, _ in live[number].next_functions)
            yield from (number, *(place for place in following if place is not None))


def _leave(hooks: HookSet, number: int, passed: Any, received: Any) -> None:
    """Nothing is asked of what a node passes on."""
