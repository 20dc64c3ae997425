"""GS401-GS405, GS412-GS416, GS423: whether the numbers are right, and in every dtype and size."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.functions.meant import Design
from gradscope.functions.rules.case import REVERSE, SECOND_ORDER, FunctionCase
from gradscope.functions.rules.fault import Violation
from gradscope.functions.rules.marking import pairs
from gradscope.model.finding import Severity
from gradscope.model.report import Status

ENOUGH = (
    "noncontig",
    "expanded_gout",
    "subset_grad",
    "one_output",
    "autocast",
    "float32",
    "complex",
    "saved_inplace",
    "out_inplace",
    "zero_size",
)


def numerically_wrong(case: FunctionCase) -> tuple[str, ...]:
    """The unexplained trials that disagree with numerical differences, and what follows from such a gradient."""
    direct = tuple(n for n in case.failing(*REVERSE) if case.fact(n, "differs") == "numbers")
    return (*direct, *case.failing("complex", "float32")) if direct else ()


def gradient_shape(case: FunctionCase) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
    """The first input whose gradient was returned in another shape: its position, the gradient's shape, its own."""
    for index, (returned, shape) in enumerate(zip(case.anatomy.returned, case.anatomy.input_shapes, strict=False)):
        if returned.kind == "tensor" and shape is not None and returned.shape != shape:
            return index, returned.shape, shape
    return None


def broadcast_not_reduced(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward broadcasts an input, and backward does not sum its gradient back correctly.
    Why: torch sums over broadcast dimensions only where the shapes tell; a repeated or wrongly reduced gradient
    raises or is silently wrong.
    Do instead: grad.sum_to_size(x.shape), and keep x.shape on ctx.
    How it is decided: the gradient is wrong or refused for an input that is smaller than the output, and right for
    the others.
    """
    largest = max((len(s) and prod(s) for s in case.anatomy.output_shapes), default=0)
    small = {i for i, s in enumerate(case.anatomy.input_shapes) if s is not None and prod(s) < largest}
    tensors = {i for i, s in enumerate(case.anatomy.input_shapes) if s is not None}
    wrong = {i for (_, i), kind in pairs(case).items() if kind != "ok"}
    shape = gradient_shape(case)
    refused = case.raising("invalid gradient at index")
    if not small or small == tensors or case.custom_gradient:
        return
    if (refused and shape and shape[0] in small) or (wrong and wrong <= small and numerically_wrong(case)):
        index = shape[0] if shape else min(wrong)
        yield Violation(
            f"the gradient of input {index}, which forward broadcasts, is not summed to its shape as it should be",
            case.site("backward"),
            (*refused, *numerically_wrong(case)),
        )


def prod(shape: tuple[int, ...]) -> int:
    """The number of elements."""
    total = 1
    for size in shape:
        total *= size
    return total


def gradient_too_small(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward returns a gradient that has fewer elements than the input.
    Why: RuntimeError "returned an invalid gradient at index ...: expected shape compatible with".
    Do instead: return a gradient of the input's shape (expand or broadcast it).
    How it is decided: torch's own refusal, and the shape that backward returned.
    """
    explains = case.raising("invalid gradient at index")
    if explains:
        found = gradient_shape(case)
        detail = (
            f"input {found[0]} has shape {list(found[2])}, its gradient {list(found[1])}"
            if found
            else case.outcome(explains[0]).detail
        )
        yield Violation(f"the gradient does not fit: {detail}", case.site("backward"), case.needing_backward())


def gradient_too_big(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward returns a gradient with more dimensions or elements than the input.
    Why: torch silently sums it to the input's shape: right after broadcasting, silently wrong otherwise.
    Do instead: return the gradient in the input's shape: grad.sum_to_size(x.shape).
    How it is decided: the shape that backward returned; an error when the gradient is wrong numerically, else a
    warning.
    """
    found = gradient_shape(case)
    if found and prod(found[1]) > prod(found[2]):
        wrong = case.gradient_wrong and numerically_wrong(case)
        message = (
            f"the gradient of input {found[0]} has shape {list(found[1])}; torch silently sums it to {list(found[2])}"
        )
        raising = case.raising("invalid gradient at index")
        vmapped = (
            case.failing("vmap_grad", "grad_vmap", "grad_vmap_partial", "eager_grad_of_vmap", "jacrev") if wrong else ()
        )
        yield Violation(
            message,
            case.site("backward"),
            (*(wrong or ()), *raising, *vmapped),
            Severity.ERROR if wrong or raising else None,
        )


def wrong_gradient(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward's gradient disagrees with numerical differences of forward.
    Why: training goes in a wrong direction without any message.
    Do instead: correct the formula; when the difference is meant (straight-through, reversal), say custom_gradient
    = true in [tool.gradscope.functions] of pyproject.toml, or as an attribute of the class; when an input shall have
    no gradient, give inputs of which only the others require grad.
    How it is decided: gradcheck in double precision, and numerical differences along fixed directions.
    """
    explains = numerically_wrong(case)
    if case.gradient_wrong and explains:
        name = "gradcheck" if case.wrong("gradcheck") else explains[0]
        everything = (*explains, *case.failing(*ENOUGH))
        told = f"the gradient is wrong: {case.outcome(name).detail}"
        yield Violation(told, case.site("backward", "vjp"), everything)


def taken_as_meant(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a gradient that differs from the formula's and is taken as meant: a straight-through estimator,
    a surrogate, a reversal or a scaling, a gradient for symmetric matrices.
    Why: numerical differences cannot tell such a gradient from a wrong one, so that it is not compared with them.
    Do instead: say what is meant: custom_gradient = true (or false, to have it compared) or symmetric = [0] for it in
    [tool.gradscope.functions], or as an attribute of the class.
    How it is decided: element by element, where forward is flat or gives its input on; by the gradient's symmetry; or
    by the words of the class. Everything that does not compare with the formula is still checked.
    """
    if case.design is not Design.NONE:
        yield Violation(f"taken as meant: {case.design.value}", case.site("backward", "vjp"))


def gradient_dtype(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward returns a gradient of another dtype than the input's.
    Why: torch casts it silently; it costs memory and time, and torch.compile may refuse it.
    Do instead: grad.to(x.dtype).
    How it is decided: float32 inputs, and the dtype that backward returned.
    """
    if case.fact("float32", "gradient_dtype") and case.failing("float32"):
        yield Violation(case.outcome("float32").detail, case.site("backward"), case.failing("float32"))


def output_always_double(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: float32 inputs give float64 outputs.
    Why: everything after the Function silently computes in double precision, slowly.
    Do instead: create tensors with dtype=x.dtype (numpy and Python floats default to double).
    How it is decided: float32 inputs, and the dtype of the outputs.
    """
    if case.fact("float32", "output_double"):
        yield Violation("float32 inputs give float64 outputs", case.site("forward"), case.failing("float32"))


def zero_size(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward takes tensors without elements, backward fails on them.
    Why: empty batches occur at the end of data and under sharding.
    Do instead: let backward handle numel() == 0: reshape with explicit sizes instead of -1, reductions with care.
    How it is decided: inputs whose first dimension is empty.
    """
    if case.failing("zero_size"):
        yield Violation(
            f"empty tensors: {case.outcome('zero_size').detail}",
            case.outcome("zero_size").site or case.site("backward"),
            case.failing("zero_size"),
        )


def missing_conj(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: the gradient of complex inputs is wrong, usually because a conjugate is missing.
    Why: for complex numbers backward multiplies with the conjugate of the derivative.
    Do instead: use grad * derivative.conj().
    How it is decided: gradcheck with complex inputs; only a note unless the given inputs are complex.
    """
    declared = bool(case.fact("complex", "declared"))
    if case.gives_wrong("complex") and not case.custom_gradient and (declared or not case.gradient_wrong):
        explains = ("complex", *(numerically_wrong(case) if declared else ()))
        yield Violation(
            "the gradient of complex inputs is wrong",
            case.site("backward"),
            explains,
            Severity.ERROR if declared else Severity.INFO,
        )


def nan_at_edge(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: the gradient is NaN at zero although forward is finite there.
    Why: norms, square roots and divisions by the output give 0/0; one padded row of zeros turns all weights into NaN.
    Do instead: add eps, or choose the value at zero with torch.where before the division.
    How it is decided: forward and backward with all inputs zero.
    """
    if case.fact("eager_bwd", "edge"):
        yield Violation("the gradient is NaN at zero although forward is finite there", case.site("backward"))


def second_not_finite(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: the second derivative is NaN or Inf, although the gradient is finite there and around.
    Why: backward divides by zero or takes a root of zero in a branch that torch.where throws away, or of an output
    that is zero: its value is hidden, its derivative is 0 * inf. Gradient penalties and Hessians are NaN.
    Do instead: replace the argument by a harmless one before the division, not the result after it; or put
    @once_differentiable above backward.
    How it is decided: the gradient is differentiated once more, and compared with differences of the gradient.
    """
    if any(case.unexplained(n) and case.fact(n, "not_finite") for n in SECOND_ORDER):
        message = "the second derivative is NaN or Inf although the gradient is finite"
        yield Violation(message, case.site("backward"), case.failing(*SECOND_ORDER))


def autocast_dtype(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward runs under autocast, backward after it fails or is far off.
    Why: forward's operators give bfloat16 under autocast, while backward runs outside and mixes it with saved
    float32 tensors.
    Do instead: decorate with torch.amp.custom_fwd and custom_bwd, or cast in backward.
    How it is decided: forward under autocast on bfloat16, backward outside. A gradient that is far off is a note,
    because bfloat16 alone can be the reason; a backward that raises is a warning.
    """
    if case.failing("autocast") and not case.custom_gradient:
        outcome = case.outcome("autocast")
        coarse = Severity.INFO if outcome.status is Status.WRONG else None
        site = outcome.site or case.site("backward")
        yield Violation(f"under autocast: {outcome.detail}", site, case.failing("autocast"), coarse)
