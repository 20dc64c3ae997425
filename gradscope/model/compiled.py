"""What compiled autograd makes of backward calls: graphs captured once and run again while their key fits."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gradscope.model.site import Located, Stack


class CompiledKind(enum.Enum):
    """What a step of a captured backward is. The values stand in recordings."""

    NODE = "node"
    HOOK = "hook"
    ACCUMULATE = "accumulate_grad"
    INLINED = "inlined"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """One call in a captured graph. `steps[i].position == i`.

    `node` is the autograd node that it comes from and `node_call` that one's place, from 1, in eager autograd's order
    (None for what belongs to none). `hook` is torch's kind of hook ("tensor_pre_hook", ...), `label` the name of the
    function called and `stack` where that is defined. `inputs` are the steps whose results it takes. An INLINED step
    is an operator of a backward that AOT autograd had compiled before.
    """

    position: int
    kind: CompiledKind
    op: str
    node: str = ""
    node_call: int | None = None
    hook: str = ""
    label: str = ""
    stack: Stack = ()
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CompiledSize:
    """A size that is an input of the graph, not part of its key: `value` is what it was at the capture."""

    value: int
    used: bool


@dataclass(frozen=True, slots=True)
class Captured(Located):
    """A backward that was captured as a graph. `backward` is the recording's number of that call, None if unknown.

    `reason` is why no graph captured before fitted, in torch's words; "" when torch gave none.
    """

    number: int
    reason: str
    stack: Stack
    steps: tuple[CompiledStep, ...]
    sizes: tuple[CompiledSize, ...] = ()
    backward: int | None = None


@dataclass(frozen=True, slots=True)
class CompiledRun(Located):
    """One backward call under compiled autograd: the graph that it ran, and whether that one was there already.

    `sizes` are the values of the graph's sizes in this run, those only that the graph uses.
    """

    captured: int
    hit: bool
    stack: Stack
    backward: int | None = None
    sizes: tuple[int, ...] = ()
