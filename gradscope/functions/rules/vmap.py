"""GS301-GS312: what vmap does with a Function, by hand or by the generated rule."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.functions.rules.backward import through_numpy
from gradscope.functions.rules.case import VMAPS, FunctionCase
from gradscope.functions.rules.fault import Violation

OVER = ("vmap", "vmap_lastdim", "vmap_mixed", "vmap_partial", "vmap_vmap")
JACOBIANS = ("jacrev", "jacfwd", "hessian")


def no_vmap(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: neither a vmap method nor generate_vmap_rule.
    Why: vmap raises "does not have vmap support", also when the Function's own input is not batched; jacrev, jacfwd
    and hessian use vmap.
    Do instead: set generate_vmap_rule = True when all methods use torch operators only, or write vmap.
    How it is decided: from the class's attributes. It is a limit, not a defect.
    """
    if case.subject.separate_context and not case.subject.has("vmap") and not case.subject.generates_vmap:
        yield Violation(
            "there is no vmap rule: vmap raises, and jacfwd and hessian with it",
            case.subject.site,
            case.raising("does not have vmap support"),
        )


def vmap_and_generate(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a vmap method together with generate_vmap_rule = True.
    Why: vmap raises because it cannot know which one is meant.
    Do instead: delete one of them.
    How it is decided: from the class's attributes.
    """
    if case.subject.has("vmap") and case.subject.generates_vmap:
        yield Violation(
            "vmap is defined and generate_vmap_rule is True",
            case.site("vmap"),
            case.raising("has both generate_vmap_rule"),
        )


def vmap_return(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: vmap returns something other than a tuple (output, out_dims).
    Why: RuntimeError "Expected the vmap staticmethod to have two returns"; a list of two counts as wrong, too.
    Do instead: return output, out_dims.
    How it is decided: torch's own refusal.
    """
    explains = case.raising("to have two returns")
    if explains:
        yield Violation("vmap does not return a tuple (output, out_dims)", case.site("vmap"), explains)


def vmap_out_dims_structure(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: out_dims without the structure of the output.
    Why: RuntimeError "incompatible (output, out_dims) tuple"; a list in the place of a tuple counts as another
    structure.
    Do instead: return one out_dim per output, in a tuple when the output is one.
    How it is decided: torch's own refusal.
    """
    explains = case.raising("incompatible (output, out_dims)")
    if explains:
        yield Violation("out_dims does not have the structure of vmap's output", case.site("vmap"), explains)


def vmap_in_dim_ignored(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a vmap method that takes the batch to be in front, returns a wrong out_dim, or treats None
    wrongly.
    Why: with another in_dim the result is silently transposed or mixed between samples.
    Do instead: x.movedim(in_dims[i], 0) first, return out_dim 0; leave an input alone whose in_dim is None.
    How it is decided: vmap with the batch in the last dimension, in another one for each input, and with one input
    batched at a time, against a Python loop. Inputs go in untouched, because an operator before them would move the
    batch to the front.
    """
    if not case.subject.has("vmap"):
        return
    explains = case.failing(*OVER)
    if not explains:
        return
    shape_fault = any(case.fact(n, "shape") for n in explains)
    moved = tuple(n for n in ("vmap_lastdim", "vmap_mixed") if n in explains)
    only_moved = case.ok("vmap") and (moved or ("vmap_partial" in explains and case.wrong("vmap_partial")))
    if only_moved or shape_fault:
        first = (*moved, *explains)[0]
        message = "vmap does not follow in_dims" if only_moved else "vmap returns a wrong out_dim"
        yield Violation(
            f"{message}: {case.outcome(first).detail}",
            case.outcome(first).site or case.site("vmap"),
            (*case.failing(*VMAPS), *case.failing(*JACOBIANS)),
        )


def vmap_none_in_dim(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a vmap method that fails when one input is not batched (its in_dim is None).
    Why: TypeError: movedim gets None. Weights shared by the batch are the usual case.
    Do instead: test for None before moving the dimension.
    How it is decided: vmap with one input batched at a time raises inside the vmap method although vmap with all
    batched works.
    """
    explains = case.raised_in(
        "vmap",
        trials=(
            "vmap_partial",
            "grad_vmap_partial",
            "vmap_grad",
            "grad_vmap",
            "eager_grad_of_vmap",
            *JACOBIANS,
            "jvp_partial",
        ),
    )
    partial = case.outcome("vmap_partial")
    if case.subject.has("vmap") and case.ok("vmap") and "vmap_partial" in case.failing() and partial.error:
        site = partial.site if partial.method == "vmap" else case.site("vmap")
        yield Violation(
            f"vmap does not expect an input that is not batched: {partial.detail}",
            site,
            (*explains, *case.failing("vmap_partial", "grad_vmap_partial", *JACOBIANS)),
        )


def vmap_bypasses_apply(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a vmap method that computes the result without calling apply.
    Why: the values are right, but under grad of vmap the Function's own backward is silently not used.
    Do instead: move the batch dimension and call MyFn.apply inside vmap.
    How it is decided: vmap has no call of apply, and the gradient through vmap differs from a Python loop's; only a
    hint when the gradients agree.
    """
    method = case.method("vmap")
    if method is None or method.calls("apply"):
        return
    explains = case.failing("grad_vmap", "grad_vmap_partial", "eager_grad_of_vmap", "vmap_grad")
    if explains and case.ok("vmap"):
        yield Violation(
            "vmap bypasses apply: the custom backward is lost under grad of vmap",
            method.site,
            (*explains, *case.failing(*JACOBIANS)),
        )


def vmap_is_not_map(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: vmap computes something else than applying forward to every sample.
    Why: silently other values: a reduction over the batch, or a normalisation that mixes samples.
    Do instead: make vmap give exactly what a loop over the batch gives.
    How it is decided: vmap is compared with a Python loop over the batch.
    """
    if case.subject.has("vmap") and case.gives_wrong("vmap"):
        yield Violation(
            f"vmap is not a map: {case.outcome('vmap').detail}",
            case.site("vmap"),
            (*case.failing(*VMAPS), *case.failing(*JACOBIANS)),
        )


def data_dependent(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: generate_vmap_rule = True with a forward or backward that branches on values or calls .item().
    Why: under vmap there is no single value to branch on: RuntimeError.
    Do instead: use torch.where, or write vmap by hand.
    How it is decided: vmap raises torch's message about data-dependent control flow or .item().
    """
    texts = (".item()", "data-dependent", "bool() on", "nonzero", "dynamic shape")
    yield from generated(case, texts, "a value of a tensor decides what is computed")


def numpy_under_generated(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: generate_vmap_rule = True with methods that use numpy or raw data pointers.
    Why: batched tensors have no storage of their own: RuntimeError.
    Do instead: write vmap by hand.
    How it is decided: vmap raises and the methods use numpy.
    """
    if case.subject.generates_vmap and any(through_numpy(m) for m in case.subject.methods.values()):
        raising = case.raising(
            "storage", "numpy", "data pointer", "Tensor that doesn't have", "torch::PyInterpreter", ".tolist"
        )
        explains = (*raising, *case.failing(*VMAPS, *JACOBIANS))
        if explains:
            yield Violation(
                "numpy does not work under a generated vmap rule", case.raised_at(explains, "forward"), explains
            )


def random_under_generated(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: generate_vmap_rule = True with a forward that draws random numbers.
    Why: vmap raises unless the caller chooses randomness="same" or "different"; then backward must draw the very
    same numbers again.
    Do instead: draw the numbers outside and pass them in, or write vmap by hand.
    How it is decided: vmap raises torch's message about randomness.
    """
    _, _, modes = case.outcome("vmap").detail.rpartition("; ")
    what = "random numbers are drawn" + f" ({modes})" * modes.startswith("randomness")
    yield from generated(case, ("random operation",), what)


def generated(case: FunctionCase, texts: tuple[str, ...], what: str) -> Iterator[Violation]:
    """The fault when vmap raises one of these texts under a generated rule."""
    explains = case.raising(*texts, trials=(*VMAPS, *JACOBIANS))
    if case.subject.generates_vmap and explains:
        yield Violation(f"{what}, which a generated vmap rule cannot do", case.raised_at(explains, "forward"), explains)


def inplace_on_unbatched(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: torch.zeros(...) filled in place with batched values.
    Why: "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other`": the
    buffer has no batch dimension.
    Do instead: x.new_zeros(...) or zeros_like of a batched tensor, or an operator that is not in place.
    How it is decided: vmap raises that message.
    """
    explains = case.raising(
        "vmap: inplace arithmetic",
        "match the broadcast shape",
        "not possible because there exists a Tensor",
        "is not supported with in-place",
        trials=(*VMAPS, *JACOBIANS, "grad", "vjp"),
    )
    if explains:
        yield Violation(
            "a buffer without batch dimension is filled in place with batched values",
            case.raised_at(explains, "forward"),
            explains,
        )
