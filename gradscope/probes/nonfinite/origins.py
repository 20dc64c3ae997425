"""Writes down where a NaN or Inf came from and where it arrived, whoever saw it: on a CPU or on an accelerator."""

from __future__ import annotations

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.module_call import InternedCalls, RunningModuleCall
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.sink import Sink
from gradscope.torch_internals.running import current_node

BORN, ENTERED, LEAPT = "born", "entered", "leapt"
ROOT, GRADIENT = "root", "gradient"


class NonfiniteOrigin:
    """A NaN or Inf that was born in an operator, or a NaN that came in with an argument. `masked`: what hid it.

    Or a gradient that is finite and has leapt: a vast number that an operator made of small ones.
    """

    __slots__ = (
        "argument", "backward", "call", "evidence", "kind", "masked", "masked_by", "node", "number", "operator",
        "stack", "step", "thread", "wanted",
    )  # fmt: skip

    step: int
    thread: int
    backward: int | None
    node: int | None
    call: RunningModuleCall | None

    def __init__(self, number: int, kind: str, operator: int, stack: int) -> None:
        self.number, self.kind, self.operator, self.stack = number, kind, operator, stack
        self.argument = self.evidence = ""
        self.masked = self.masked_by = 0
        self.wanted = kind == ENTERED  # the program gave it, in a tensor or as a number: it may mark a gap in the data


class OriginWriter:
    """Numbers the events of a recording, and writes those that are worth it. `before` are the steps before it."""

    def __init__(self, sink: Sink, before: int = 0) -> None:
        self._sink, self._calls, self._before = sink, InternedCalls(sink), before
        self._number = 0

    def event(self, kind: str, operator: int, stack: int) -> NonfiniteOrigin:
        """A new event; the rest of it is for the caller to fill in."""
        self._number += 1
        return NonfiniteOrigin(self._number, kind, operator, stack)

    def write(self, event: NonfiniteOrigin) -> None:
        """Write an event; again replaces nothing but what became known since."""
        call = 0 if event.call is None else self._calls.ids({event.call.serial: event.call})[event.call.serial]
        place = (event.number, event.kind, self._before + event.step, event.thread, event.backward, event.node)
        what = (event.operator, event.stack, call, self._sink.string(event.argument), event.evidence)
        self._sink.add("birth", (*place, *what, event.masked, event.masked_by))

    def arrived(self, backward: int, where: str, name: int, origin: NonfiniteOrigin | None, nan: int, inf: int) -> None:
        """Something that is not finite has reached a loss or a gradient: `nan` and `inf` count what was found."""
        if origin is not None:
            self.write(origin)
        number = None if origin is None else origin.number
        self._sink.add("nonfinite", (backward, where, name, number, nan, inf))


def node_number(backward: BackwardCall) -> int | None:
    """The node that a backward is evaluating."""
    current = current_node()
    token = None if current is None else token_of(current)
    return None if token is None or backward.walked is None else backward.walked.numbers.get(token.uid)
