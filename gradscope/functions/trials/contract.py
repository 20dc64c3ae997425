"""Trials of the contract between a Function and autograd: what may be written, how often, and for whom."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gradscope.functions.inputs.sample import Sample, tensors_in
from gradscope.functions.trials.anatomy import examine
from gradscope.functions.trials.bench import Bench, Tensors, seeded
from gradscope.functions.trials.numbers import require_grad
from gradscope.functions.trials.outcome import OK, NotApplicable, Outcome, wrong

CAUGHT = ("modified by an inplace operation", "modified in-place", "leaf Variable that requires grad")


def gout_mutated(bench: Bench) -> Outcome:
    """backward leaves the incoming gradient as it is."""
    inputs = bench.inputs()
    outputs = require_grad(bench.call(*inputs))
    weights = bench.cotangents(outputs)
    before = [w.clone() for w in weights]
    torch.autograd.grad(outputs, inputs, weights, allow_unused=True)
    return OK if bench.all_close(weights, before) else wrong("backward writes into the incoming gradient")


def input_mutated(bench: Bench) -> Outcome:
    """forward writes to no input that it has not marked dirty."""
    silent = [i for i in bench.anatomy.mutated if f"input {i}" not in bench.anatomy.dirty]
    return wrong(f"forward writes into input {silent[0]} without ctx.mark_dirty", inputs=silent) if silent else OK


def saved_inplace(bench: Bench) -> Outcome:
    """After an input is overwritten, backward gives the right gradient or torch's version error."""
    if bench.dirty:
        raise NotApplicable("forward itself writes its input")
    args = bench.arguments()
    outputs = require_grad(bench.differentiable(seeded(bench.function.apply, *args)))
    inputs = tuple(args[i] for i in bench.positions)
    with torch.no_grad():
        for value in args:
            if isinstance(value, Tensor) and value.is_floating_point():
                value.mul_(-1.5)
    return protected(
        bench, lambda: torch.autograd.grad(bench.weigh(outputs), inputs, allow_unused=True), 1.0, "an input"
    )


def out_inplace(bench: Bench) -> Outcome:
    """After the caller writes into an output, the gradient follows or torch's version error comes."""
    bench.refuse_nonlinear()
    inputs = bench.inputs()
    outputs = require_grad(bench.call(*inputs))
    for output in outputs:
        output.mul_(2)
    return protected(
        bench, lambda: torch.autograd.grad(bench.weigh(outputs), inputs, allow_unused=True), 2.0, "an output"
    )


def protected(bench: Bench, backward: object, factor: float, what: str) -> Outcome:
    """Run a backward after a write: torch's version error counts as ok, a wrong gradient does not."""
    assert callable(backward)
    try:
        grads = backward()
    except RuntimeError as error:
        if any(text in str(error) for text in CAUGHT) and "is a view" not in str(error):
            return Outcome(OK.status, "torch notices the write")
        raise
    found = bench.shaped(filled(grads, bench.inputs()))
    if bench.all_close(found, [factor * g for g in bench.eager_gradient]):
        return OK
    return wrong(f"writing into {what} after forward silently changes the gradient")


def filled(grads: tuple[Tensor | None, ...], inputs: Tensors) -> Tensors:
    """Gradients with zeros for those that are missing."""
    return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True))


def backward_twice(bench: Bench) -> Outcome:
    """With retain_graph, the second backward gives what the first gave."""
    inputs = bench.inputs()
    total = bench.scalar(*inputs)
    if not total.requires_grad:
        raise NotApplicable("the outputs do not require grad")
    first = [
        None if g is None else g.clone()
        for g in torch.autograd.grad(total, inputs, retain_graph=True, allow_unused=True)
    ]
    second = torch.autograd.grad(total, inputs, allow_unused=True)
    return OK if bench.all_close(first, second) else wrong("the second backward gives another gradient")


def subset_grad(bench: Bench) -> Outcome:
    """When one input alone requires grad, its gradient is the same."""
    if len(bench.positions) < 2:
        raise NotApplicable("there is one differentiable input")
    for index, position in enumerate(bench.positions):
        alone = replace(bench, sample=Sample(bench.sample.args, (position,)), once={})
        outputs = alone.call(*alone.inputs())
        if not any(o.requires_grad for o in outputs):
            continue
        if not bench.close(alone.eager_gradient[0], bench.eager_gradient[index]):
            return wrong(f"when only input {position} requires grad, its gradient differs", position=position)
    return OK


def needless_grad(bench: Bench) -> Outcome:
    """backward computes no gradient that nobody asked for."""
    if len(bench.positions) < 2:
        raise NotApplicable("there is one differentiable input")
    for position in bench.positions:
        anatomy = examine(bench.function, Sample(bench.sample.fresh(grad=False), (position,)))  # type: ignore[arg-type]
        needless = [
            i
            for i in bench.positions
            if i != position and i < len(anatomy.returned) and anatomy.returned[i].kind == "tensor"
        ]
        if needless and anatomy.needed:
            return wrong(
                f"backward computes the gradient of input {needless[0]} when only input {position} requires one",
                position=position,
            )
    return OK


def one_output(bench: Bench) -> Outcome:
    """When the loss uses one of several outputs, the gradients add up to that of all."""
    bench.refuse_nonlinear()
    inputs = bench.inputs()
    outputs = bench.call(*inputs)
    if len(outputs) < 2:
        raise NotApplicable("there is one differentiable output")
    weights = bench.cotangents(outputs)
    total = [torch.zeros_like(x) for x in inputs]
    for output, weight in zip(outputs, weights, strict=True):
        if output.requires_grad:
            grads = torch.autograd.grad((output * weight).sum(), inputs, retain_graph=True, allow_unused=True)
            total = [t if g is None else t + g for t, g in zip(total, grads, strict=True)]
    return (
        OK
        if bench.all_close(total, bench.eager_gradient)
        else wrong("the gradients through single outputs do not add up")
    )


def grad_buffer_reuse(bench: Bench) -> Outcome:
    """A gradient that was handed out stays as it is when backward runs again."""
    inputs = bench.inputs()
    first = bench.gradient(inputs)
    copies = [g.clone() for g in first]
    other = bench.inputs()
    outputs = bench.call(*other)
    torch.autograd.grad(bench.weigh(outputs, tuple(3 * w for w in bench.cotangents(outputs))), other, allow_unused=True)
    return (
        OK
        if bench.all_close(first, copies)
        else wrong("a later backward overwrites gradients that an earlier one returned")
    )


def grad_none_requires(bench: Bench) -> Outcome:
    """Outputs require grad when inputs do, and tensors inside containers get their gradient."""
    args = bench.arguments()
    if bench.dirty:
        args = [a.clone() if isinstance(a, Tensor) else a for a in args]
    raw = seeded(bench.function.apply, *args)
    outputs = [o for o in tensors_in(raw) if o.is_floating_point() or o.is_complex()]
    if bench.anatomy.nested:
        return wrong(
            f"tensors inside the container at input {bench.anatomy.nested[0]} require grad and get none", nested=True
        )
    if not bench.sample.differentiable or len(bench.anatomy.nondifferentiable) >= len(outputs):
        raise NotApplicable("nothing requires grad")
    if outputs and not any(o.requires_grad for o in outputs):
        return wrong("the inputs require grad, the outputs do not", detached=True)
    return OK


def threads(bench: Bench) -> Outcome:
    """Several applications before a backward, and several threads at once, give what one after the other gives."""
    import threading

    bench.refuse_random()
    if bench.draws_backward:
        raise NotApplicable("backward draws random numbers")
    samples = different_inputs(bench)
    expected = [bench.gradient(leaves(sample)) for sample in samples]
    if not all(map(bench.all_close, interleaved(bench, samples), expected)):
        return wrong("two applications before a backward disturb each other", interleaved=True)
    found: dict[int, list[Tensors]] = {number: [] for number in range(len(samples))}
    barrier = threading.Barrier(len(samples))

    def work(number: int) -> None:
        barrier.wait(10)
        found[number] = [bench.gradient(leaves(samples[number])) for _ in range(6)]

    workers = [threading.Thread(target=work, args=(number,), daemon=True) for number in found]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(10)
    same = all(len(found[n]) == 6 and all(bench.all_close(grads, expected[n]) for grads in found[n]) for n in found)
    return OK if same else wrong("threads that run it at the same time disturb each other")


def leaves(tensors: Tensors) -> Tensors:
    """Fresh inputs that require grad."""
    return tuple(t.clone().requires_grad_() for t in tensors)


def different_inputs(bench: Bench) -> list[Tensors]:
    """Four lists of inputs whose values differ in size and, where the Function takes that, in order."""
    inputs = tuple(x.detach() for x in bench.inputs())
    turned = tuple(x.flatten().flip(0).reshape(x.shape) for x in inputs)
    try:
        bench.gradient(leaves(turned))
    except Exception:
        turned = inputs
    return [tuple(x * scale for x in xs) for xs, scale in ((inputs, 1.0), (turned, 0.9), (inputs, 1.1), (turned, 0.95))]


def interleaved(bench: Bench, samples: list[Tensors]) -> list[Tensors]:
    """The gradients when all forwards come before all backwards."""
    inputs = [leaves(sample) for sample in samples]
    totals = [bench.scalar(*xs) for xs in inputs]
    if not all(total.requires_grad for total in totals):
        raise NotApplicable("the outputs do not require grad")
    return [filled(torch.autograd.grad(t, xs, allow_unused=True), xs) for t, xs in zip(totals, inputs, strict=True)]
