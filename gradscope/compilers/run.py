"""Compiles a user's function or module on given inputs, to see its joint graphs; nothing is optimised or kept."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from gradscope.compilers.joint import RegionWatch
from gradscope.compilers.lines import Whose, stack_of_frames
from gradscope.compilers.reasons import in_one_sentence
from gradscope.errors import NothingCheckedError, UsageError
from gradscope.model.joint import EagerTensor, Fact, Region
from gradscope.model.site import Site, Stack, user_site
from gradscope.model.tensor import TensorType
from gradscope.torch_internals.find import bound

MARK = "mark an input with :grad in --spec, or give tensors that require grad with --inputs"
Arguments = list[Any]


@dataclass(slots=True)
class Capture:
    """What compiling came to: `inference` counts the graphs that needed no backward."""

    regions: list[Region] = field(default_factory=list)
    breaks: list[Fact] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    inference: int = 0
    torch: str = torch.__version__

    def take(self, found: Region | Fact) -> None:
        """Keep what the watch found."""
        if isinstance(found, Region):
            self.regions.append(found)
        else:
            self.breaks.append(found)


def callable_of(found: Any, name: str) -> Callable[..., Any]:
    """What to compile: a function, a module, one made by its class, or a custom Function's apply. Raises UsageError."""
    if isinstance(found, type) and issubclass(found, torch.autograd.Function):
        return found.apply
    if isinstance(found, type) and issubclass(found, nn.Module):
        try:
            return found()
        except TypeError as error:
            sentence = f"{name} cannot be made without arguments: {error}"
            raise UsageError(sentence, "name a function that calls it, or an instance") from None
    if not callable(found):
        raise UsageError(f"{name} is no function and no module: it is a {type(found).__name__}")
    return found


def parameters_of(target: Any) -> list[Tensor]:
    """The parameters and buffers that a module or bound method brings along."""
    owner = target.__self__ if isinstance(target, MethodType) else target
    return [*owner.parameters(), *owner.buffers()] if isinstance(owner, nn.Module) else []


def capture(target: Callable[..., Any], name: str, calls: list[Arguments], dynamic: bool, whose: Whose) -> Capture:
    """Compile it and call it once for each list of arguments. Raises NothingCheckedError when no graph came of it."""
    found = Capture()
    watch = RegionWatch(found.take, found.faults.append, whose, own=False)
    bound("torch._dynamo.reset")()
    with watch.entered(), _quiet():
        compiled: Any = torch.compile(target, backend=_backend(found), dynamic=dynamic or None)
        for arguments in calls:
            try:
                compiled(*arguments)
            except Exception as error:
                raise _refusal(name, error, whose) from error
    bound("torch._dynamo.reset")()
    if found.faults:
        raise found.faults[0]
    if not found.regions:
        raise _nothing(name, found)
    return found


def eager(target: Callable[..., Any], arguments: Arguments, whose: Whose) -> tuple[EagerTensor, ...]:
    """The tensors that autograd saves when it is called without a compiler, in the order of saving."""
    saved: list[tuple[Tensor, Stack]] = []

    def pack(tensor: Tensor) -> Tensor:
        frames = traceback.StackSummary.extract(traceback.walk_stack(sys._getframe(1)), lookup_lines=False)
        saved.append((tensor, stack_of_frames(frames[::-1], whose)))
        return tensor

    inputs = [*parameters_of(target), *(one for one in arguments if isinstance(one, Tensor))]
    held = {one.untyped_storage()._cdata for one in inputs}
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), _quiet():
        kept = target(*arguments)  # holds the graph while the storages are told apart
    numbers: dict[int, int] = {}
    found = tuple(_eager_tensor(tensor, stack, held, numbers) for tensor, stack in saved)
    del kept
    return found


def _eager_tensor(tensor: Tensor, stack: Stack, held: set[int], numbers: dict[int, int]) -> EagerTensor:
    storage = tensor.untyped_storage()
    kind = TensorType(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), str(tensor.device))
    number = numbers.setdefault(storage._cdata, len(numbers))
    return EagerTensor(kind, storage.nbytes(), number, storage._cdata in held, stack)


def _backend(found: Capture) -> Any:
    """A backend that runs the graphs as they are."""

    def boxed(graph: Any, inputs: Any) -> Any:
        return bound("torch._functorch._aot_autograd.utils.make_boxed_func")(graph.forward)

    def inference(graph: Any, inputs: Any) -> Any:
        found.inference += 1
        return boxed(graph, inputs)

    return bound("torch._dynamo.backends.common.aot_autograd")(
        fw_compiler=boxed, bw_compiler=boxed, inference_compiler=inference
    )


def _refusal(name: str, error: Exception, whose: Whose) -> NothingCheckedError:
    """torch's reason, or the function's own exception, with the user's line."""
    cause = getattr(error, "inner_exception", None) or error
    stack = stack_of_frames(traceback.extract_tb(error.__traceback__), whose)
    known = getattr(cause, "real_stack", None) or getattr(error, "real_stack", None)
    stack = stack_of_frames(known, whose) if known else stack
    sentence = f"compiling {name} raises {type(cause).__name__}: {in_one_sentence(str(cause))}"
    return NothingCheckedError(sentence, _shown(user_site(stack)))


def _nothing(name: str, found: Capture) -> NothingCheckedError:
    """Why there is no joint graph."""
    if found.breaks:
        reason = found.breaks[0]
        return NothingCheckedError(f"torch.compile makes no joint graph of {name}: {reason.text}", _shown(reason.site))
    if found.inference:
        return NothingCheckedError(f"{name} needs no backward: nothing in it requires grad", MARK)
    return NothingCheckedError(f"torch.compile found no tensor operator in {name}")


def _shown(site: Site | None) -> str:
    return "" if site is None else f"at {site}: {site.source or ''}".rstrip(": ")


@contextmanager
def _quiet() -> Iterator[None]:
    """torch warns about what a user of this command cannot change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
