"""The calls by which a program trains, in the order in which it makes them."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Located, Stack

UNKNOWN = -1  # a count of what could not be counted: a generator may be read once only


@dataclass(frozen=True, slots=True, eq=False)
class CallKind:
    """A kind of call, one object each: its name in the recording, and what `count` and `total` of such a call are."""

    name: str
    count: str
    total: str


_GRADIENTS = ("parameters that hold a gradient", "parameters")
MADE = CallKind("made", "-", "-")  # an optimizer is made
STEP = CallKind("step", *_GRADIENTS)
ZERO_GRAD = CallKind("zero_grad", *_GRADIENTS)
CLIP = CallKind("clip", "1 where the bound is below a million", "parameters, or UNKNOWN")
SCALE = CallKind("scale", "1 where a scaler is enabled", "-")
UNSCALE = CallKind("unscale", *_GRADIENTS)
SCALED_STEP = CallKind("scaled_step", *_GRADIENTS)
TRAIN = CallKind("train", "modules whose mode it changes", "of those inside, that compute something else then")
EVAL = CallKind("eval", TRAIN.count, TRAIN.total)
SCHEDULE = CallKind("schedule", "-", "-")  # a scheduler sets learning rates
FORWARD = CallKind("forward", "1 in training mode, of what a wrapper wraps", "1 where gradients are on")
GAP = CallKind("gap", "-", "-")  # what came before is not known: it was not recorded, or too much at once
STATE = CallKind("state_dict", "-", "-")
LOAD = CallKind("load_state_dict", "tensors that share the module's memory", "tensors that it has")
ASSIGN = CallKind("assign_state_dict", LOAD.count, LOAD.total)  # load_state_dict(assign=True): parameters are replaced
LOAD_NOTHING = CallKind("load_nothing", "tensors that were given, under other names", LOAD.total)  # with strict=False
PARTED = CallKind("parted", "parameters that were one before load_state_dict", "what they are since")
ONE_MEMORY = CallKind("one_memory", "parameters that an optimizer steps, over one memory", "-")
RESTORE = CallKind("load_optimizer_state", "parameters whose state has another shape", "parameters that have a state")
AUTOCAST = CallKind("autocast", "1 where it keeps copies of weights", "1 where no other is open around it")
NO_SYNC = CallKind("no_sync", "-", "-")  # DistributedDataParallel is to average no gradients for a while
LEARN = CallKind("requires_grad_(True)", "parameters of a module that it changes", "parameters that it has")
FREEZE = CallKind("requires_grad_(False)", LEARN.count, LEARN.total)
UNHOOK = CallKind("remove", "-", "-")  # a hook is removed that was still there
_MAKING = (MADE, STATE, LOAD, ASSIGN, LOAD_NOTHING, PARTED, RESTORE, ONE_MEMORY)
_STEPPING = (STEP, ZERO_GRAD, CLIP, SCALE, UNSCALE, SCALED_STEP, SCHEDULE)
_SWITCHING = (TRAIN, EVAL, LEARN, FREEZE, UNHOOK)
_ALL = (*_MAKING, *_STEPPING, *_SWITCHING, FORWARD, AUTOCAST, NO_SYNC, GAP)
KINDS = {kind.name: kind for kind in _ALL}


@dataclass(frozen=True, slots=True)
class TrainingCall(Located):
    """One of them. `optimizer` is a number, of an OptimizerLook too; `module` a name, of PARTED and ONE_MEMORY
    the names of parameters; None where there is none.
    """

    kind: CallKind
    optimizer: int | None
    module: str | None
    stack: Stack
    count: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Interval:
    """The calls of a thread up to its backward call `backward`, since the one before; None: up to the end."""

    backward: int | None
    thread: int
    calls: tuple[TrainingCall, ...]


AIM = -1  # in place of a step


@dataclass(frozen=True, slots=True)
class LearningRate:
    """The learning rate of an optimizer's group from its step `count` on, until another is recorded.

    At AIM, before all steps: the one that a schedule goes by.
    """

    optimizer: int
    count: int
    group: int
    value: float


@dataclass(frozen=True, slots=True)
class Update:
    """How many of the elements of a parameter that were looked at a step has changed; `look` as in OptimizerLook."""

    optimizer: int
    count: int
    parameter: str
    changed: int
    elements: int
