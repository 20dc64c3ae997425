"""One eager forward and backward seen from inside: what is saved, marked, kept on ctx and returned.

The class's own methods are wrapped for that one run, because the engine hides most of it: a ctx forgets
what was marked once apply returns, and torch sums, casts and drops gradients without a word.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.sample import Sample, tensors_in
from gradscope.functions.seeding import seed_torch
from gradscope.functions.source import overriding
from gradscope.functions.trials.ctx import Kept, describe_context, name_tensor, shares_storage

CTX_CALLS = ("save_for_backward", "save_for_forward", "mark_dirty", "mark_non_differentiable", "set_materialize_grads")


@dataclass(frozen=True)
class Returned:
    """One thing that backward returned for one input."""

    kind: str
    shape: tuple[int, ...] = ()
    dtype: str = ""


@dataclass(frozen=True)
class Anatomy:
    """Plain facts of one eager run. Tensors are named "input 0", "output 1", "intermediate"; numbers are positions."""

    output_kind: str = ""
    outputs: tuple[str, ...] = ()
    output_shapes: tuple[tuple[int, ...], ...] = ()
    input_shapes: tuple[tuple[int, ...] | None, ...] = ()
    input_dtypes: tuple[str, ...] = ()
    requires_grad: bool = False
    saved: tuple[tuple[str, ...], ...] = ()
    saved_for_forward: tuple[tuple[str, ...], ...] = ()
    dirty: tuple[str, ...] = ()
    nondifferentiable: tuple[int, ...] = ()
    materialize: bool = True
    mutated: tuple[int, ...] = ()
    nested: tuple[int, ...] = ()
    kept: tuple[Kept, ...] = ()
    saves_in_backward: bool = False
    kept_changed: tuple[str, ...] = ()
    saved_changed: bool = False
    class_changed: tuple[str, ...] = ()
    returned_kind: str = ""
    returned: tuple[Returned, ...] = ()
    needed: tuple[bool, ...] = ()
    warnings: tuple[str, ...] = ()


def merged(anatomies: Sequence[Anatomy]) -> Anatomy:
    """The first run, with what was kept, written and changed in any: one sample alone may take a branch."""
    first = anatomies[0]
    names = ("dirty", "mutated", "nested", "kept", "kept_changed", "class_changed", "warnings")
    united: dict[str, Any] = {
        name: tuple(dict.fromkeys(one for anatomy in anatomies for one in getattr(anatomy, name))) for name in names
    }
    for name in ("saves_in_backward", "saved_changed"):
        united[name] = any(getattr(anatomy, name) for anatomy in anatomies)
    return replace(first, **united)


@dataclass
class _Log:
    """What the wrapped methods note down during the run."""

    args: list[Any]
    outputs: Any = None
    calls: list[tuple[Any, str, str, tuple[Any, ...]]] = field(default_factory=list)
    context: Any = None
    phase: str = "forward"
    before_backward: dict[str, Any] = field(default_factory=dict)
    after_backward: dict[str, Any] = field(default_factory=dict)
    saved_changed: bool = False
    returned: Any = None
    backward_ran: bool = False
    needed: tuple[bool, ...] = ()
    mutated: tuple[int, ...] = ()


def examine(function: Any, sample: Sample) -> Anatomy:
    """Run once and describe it; what could not be run is left empty."""
    args = sample.fresh()
    for index, value in enumerate(args):
        if isinstance(value, Tensor) and value.requires_grad:
            args[index] = value * 1  # not a leaf, so that a Function may write in place
    log = _Log(args)
    attributes = dict(vars(function))
    with warnings.catch_warnings(record=True) as seen, observed(function, log):
        warnings.simplefilter("always")
        with contextlib.suppress(Exception):
            run(function, log)
    changed = tuple(k for k, v in vars(function).items() if k not in attributes or attributes[k] is not v)
    return describe_run(log, changed, tuple(str(w.message) for w in seen))


def run(function: Any, log: _Log) -> None:
    """Apply, then send a gradient of ones into every differentiable output."""
    seed_torch(0)
    before = [value.detach().clone() if isinstance(value, Tensor) else None for value in log.args]
    try:
        outputs = function.apply(*log.args)
    finally:
        log.mutated = tuple(i for i, old in enumerate(before) if old is not None and not same(old, log.args[i]))
    targets = [t for t in tensors_in(outputs) if t.requires_grad and t.dtype.is_floating_point]
    log.phase = "backward"
    if targets:
        torch.autograd.backward(targets, [torch.ones_like(t) for t in targets])


@contextlib.contextmanager
def observed(function: Any, log: _Log) -> Iterator[None]:
    """Wrap forward, setup_context, backward and ctx's own methods for a while."""
    base = torch.autograd.function.FunctionCtx
    originals = {name: getattr(base, name) for name in CTX_CALLS}
    for name, original in originals.items():
        setattr(base, name, noting(name, original, log))
    own = {name: vars(function).get(name) for name in ("forward", "setup_context", "backward")}
    for name in own:
        if inherited_from_torch(function, name):
            continue
        setattr(function, name, staticmethod(wrapped(name, getattr(function, name), log)))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(base, name, original)
        for name, value in own.items():
            if value is not None:
                setattr(function, name, value)
            elif name in vars(function):
                delattr(function, name)


def inherited_from_torch(function: Any, name: str) -> bool:
    """Whether the class does not override the method."""
    return not any(name in vars(base) for base in overriding(function))


def noting(name: str, original: Any, log: _Log) -> Any:
    """A ctx method that is noted before it runs."""

    def note(ctx: Any, *args: Any, **keywords: Any) -> Any:
        log.calls.append((ctx, log.phase, name, (*args, *keywords.values())))
        return original(ctx, *args, **keywords)

    return note


def wrapped(name: str, original: Any, log: _Log) -> Any:
    """A method of the class that leaves what the rules need in the log."""

    @functools.wraps(original)
    def method(*args: Any, **keywords: Any) -> Any:
        if name == "backward":
            return note_backward(original, log, args)
        result = original(*args, **keywords)
        if name == "forward" and log.phase == "forward":
            log.outputs = result
        if name == "setup_context" or (args and isinstance(args[0], torch.autograd.function.FunctionCtx)):
            log.context = log.context or args[0]
        return result

    return method


def note_backward(original: Any, log: _Log, args: tuple[Any, ...]) -> Any:
    """Run backward and keep what it returned and what it changed on ctx."""
    if log.backward_ran or not args:
        return original(*args)
    context = args[0]
    log.backward_ran, log.needed = True, tuple(context.needs_input_grad)
    log.before_backward = context_state(context)
    saved = [(tensor, tensor._version, tensor.detach().clone()) for tensor in saved_tensors(context)]
    log.returned = original(*args)
    log.after_backward = context_state(context)
    log.saved_changed = any(tensor._version != version or not same(old, tensor) for tensor, version, old in saved)
    return log.returned


def context_state(context: Any) -> dict[str, Any]:
    """ctx's attributes, to compare with later."""
    state: dict[str, Any] = {
        name: (id(value), repr(value) if not tensors_in(value) else "") for name, value in vars(context).items()
    }
    state["ran"] = True
    return state


def saved_tensors(context: Any) -> list[Tensor]:
    """What forward saved, where looking at it does not take it away."""
    with contextlib.suppress(Exception):
        if not getattr(context, "clear_saved_tensors_on_access", False):
            return [tensor for tensor in context.saved_tensors if tensor is not None]
    return []


def same(old: Tensor, new: Tensor) -> bool:
    """Whether a tensor still holds the values it had."""
    if old.layout is not torch.strided:
        old, new = old.to_dense(), new.to_dense()
    return (
        old.shape == new.shape and torch.equal(torch.nan_to_num(old), torch.nan_to_num(new.detach()))
        if old.dtype != torch.bool
        else torch.equal(old, new)
    )


def describe_run(log: _Log, class_changed: tuple[str, ...], messages: tuple[str, ...]) -> Anatomy:
    """The log as plain facts."""
    kind, outputs = output_kind(log.outputs)
    tensors = [value for value in log.args if isinstance(value, Tensor)]

    # Functions that forward or backward apply in turn have contexts of their own
    calls = [(phase, name, args) for ctx, phase, name, args in log.calls if ctx is log.context]

    def named(tensor: Any) -> str:
        return name_tensor(tensor, log.args, outputs)

    def called(name: str, phase: str = "forward") -> tuple[tuple[str, ...], ...]:
        return tuple(
            tuple(named(t) for t in args) for at, called_name, args in calls if called_name == name and at == phase
        )

    marked = [t for at, name, args in calls if name == "mark_non_differentiable" for t in args]
    return Anatomy(
        output_kind=kind,
        outputs=tuple(describe_output(o, log.args) for o in outputs),
        output_shapes=tuple(tuple(o.shape) if isinstance(o, Tensor) else () for o in outputs),
        input_shapes=tuple(tuple(v.shape) if isinstance(v, Tensor) else None for v in log.args),
        input_dtypes=tuple(str(v.dtype) if isinstance(v, Tensor) else "" for v in log.args),
        requires_grad=any(t.requires_grad for t in tensors),
        saved=called("save_for_backward"),
        saved_for_forward=called("save_for_forward"),
        dirty=tuple(name_tensor(t, log.args, []) for at, name, args in calls if name == "mark_dirty" for t in args),
        nondifferentiable=tuple(i for i, o in enumerate(outputs) if any(o is t for t in marked)),
        materialize=not any(name == "set_materialize_grads" and args and args[0] is False for _, name, args in calls),
        mutated=log.mutated,
        nested=tuple(
            i
            for i, v in enumerate(log.args)
            if not isinstance(v, Tensor) and any(t.requires_grad for t in tensors_in(v))
        ),
        kept=describe_context(log.context, log.args, outputs),
        saves_in_backward=bool(called("save_for_backward", "backward")),
        kept_changed=changed_attributes(log),
        saved_changed=log.saved_changed,
        class_changed=class_changed,
        returned_kind=type(log.returned).__name__ if log.backward_ran else "",
        returned=describe_returned(log.returned) if log.backward_ran else (),
        needed=log.needed,
        warnings=messages,
    )


def changed_attributes(log: _Log) -> tuple[str, ...]:
    """The attributes of ctx that backward set to something else."""
    if not log.after_backward:
        return ()
    names = {*log.before_backward, *log.after_backward}
    return tuple(sorted(n for n in names if log.before_backward.get(n) != log.after_backward.get(n)))


def output_kind(outputs: Any) -> tuple[str, list[Any]]:
    """What forward returned, in a word, and as a list."""
    if isinstance(outputs, tuple):
        kind = "namedtuple" if hasattr(outputs, "_fields") else "one-tuple" if len(outputs) == 1 else "tuple"
        return kind, list(outputs)
    if isinstance(outputs, list):
        return "list", list(outputs)
    if isinstance(outputs, dict):
        return "dict", list(outputs.values())
    return ("tensor" if isinstance(outputs, Tensor) else "nothing" if outputs is None else "other"), [outputs]


def describe_output(output: Any, args: list[Any]) -> str:
    """One of "float", "integer", "view" and "input", or the type of something that is no tensor."""
    if not isinstance(output, Tensor):
        return type(output).__name__
    if any(output is value for value in args):
        return "input"
    if output.dtype.is_floating_point or output.is_complex():
        shares = any(isinstance(v, Tensor) and output.numel() and shares_storage(v, output) for v in args)
        return "view" if shares else "float"
    return "integer"


def describe_returned(returned: Any) -> tuple[Returned, ...]:
    """What backward returned, one entry per input."""
    values = returned if isinstance(returned, tuple) else (returned,)
    return tuple(
        Returned("tensor", tuple(v.shape), str(v.dtype))
        if isinstance(v, Tensor)
        else Returned("none" if v is None else type(v).__name__)
        for v in values
    )
