"""Trials of lifetime and of what is kept: cycles, leaks, tensors on ctx, saved tensors that nobody reads."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.sample import tensors_in
from gradscope.functions.trials.bench import Bench, Tensors, seeded
from gradscope.functions.trials.outcome import OK, NotApplicable, Outcome, wrong


def leak(bench: Bench) -> Outcome:
    """The node dies with its outputs, without help from the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        reference = node_of(bench)
        if reference() is None:
            return OK
        gc.collect()
        survives = reference() is not None
    finally:
        gc.enable()
    if survives:
        return wrong("the node outlives its outputs, even after a garbage collection", survives=True)
    return wrong("the node outlives its outputs until the garbage collector runs", survives=False)


def node_of(bench: Bench) -> Any:
    """A weak reference to the node of one application whose outputs are gone."""
    args = bench.sample_args()
    outputs = tensors_in(seeded(bench.function.apply, *args))
    node = next((o.grad_fn for o in outputs if o.grad_fn is not None and hasattr(o.grad_fn, "saved_tensors")), None)
    if node is None:
        raise NotApplicable("no output has a node of this Function")
    return weakref.ref(node)


def retained_inputs(bench: Bench) -> Outcome:
    """The inputs die with the outputs: nothing else holds them."""
    bench.anatomy  # noqa: B018, the first run may fill caches that are no leak
    references = run_and_forget(bench)
    gc.collect()
    kept = [i for i, reference in references if reference() is not None]
    return wrong(f"input {kept[0]} stays alive after everything that came from it is gone") if kept else OK


def run_and_forget(bench: Bench) -> list[tuple[int, Any]]:
    """Weak references to the inputs of a forward and backward whose results are dropped."""
    args = bench.sample_args()
    references = [(i, weakref.ref(value)) for i, value in enumerate(args) if isinstance(value, Tensor)]
    outputs = [o for o in tensors_in(seeded(bench.function.apply, *args)) if o.requires_grad]
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(o) for o in outputs])
    return references


def ctx_tensors(bench: Bench) -> Outcome:
    """ctx holds tensors only as saved tensors."""
    kept = bench.anatomy.kept
    return wrong("; ".join(f"ctx.{k.attribute} holds {k.what}" for k in kept)) if kept else OK


class _Saved:
    """Saved-tensor hooks that number what is packed and can hand back something else for one of them."""

    def __init__(self, poisoned: int | None = None) -> None:
        self.packed: list[Tensor] = []
        self.poisoned = poisoned

    def pack(self, tensor: Tensor) -> tuple[int, Tensor]:
        self.packed.append(tensor)
        return len(self.packed) - 1, tensor.detach().clone()

    def unpack(self, packed: tuple[int, Tensor]) -> Tensor:
        number, tensor = packed
        return torch.full_like(tensor, float("nan")) if number == self.poisoned else tensor


def hooked_gradient(bench: Bench, saved: _Saved) -> Tensors:
    """The eager gradient with hooks around apply alone."""
    inputs = bench.inputs()
    with torch.autograd.graph.saved_tensors_hooks(saved.pack, saved.unpack):
        outputs = bench.call(*inputs)
    total = bench.weigh(outputs)
    if not total.requires_grad:
        raise NotApplicable("the outputs do not require grad")
    grads = torch.autograd.grad(total, inputs, allow_unused=True)
    return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True))


def saved_hooks(bench: Bench) -> Outcome:
    """Saved tensors that travel through saved_tensors_hooks (offloading, checkpointing) give the same gradient."""
    same = bench.all_close(hooked_gradient(bench, _Saved()), bench.eager_gradient)
    return OK if same else wrong("the gradient changes when saved tensors go through saved_tensors_hooks")


def saved_read(bench: Bench) -> Outcome:
    """Every saved tensor matters to the gradient: NaN in its place must show."""
    saved = _Saved()
    hooked_gradient(bench, saved)
    for number, tensor in enumerate(saved.packed):
        if not (tensor.is_floating_point() or tensor.is_complex()) or not tensor.numel():
            continue
        if tensor.layout is not torch.strided:
            continue
        if influences(bench, number):
            continue
        size = tensor.numel() * tensor.element_size()
        return wrong(
            f"saved tensor {number} ({list(tensor.shape)}, {size} bytes) does not influence the gradient",
            number=number,
        )
    return OK


def influences(bench: Bench, number: int) -> bool:
    """Whether backward gives another gradient, or none at all, with NaN for this saved tensor."""
    try:
        return not bench.all_close(hooked_gradient(bench, _Saved(number)), bench.eager_gradient)
    except Exception:
        return True  # a decomposition, say, that takes no NaN
