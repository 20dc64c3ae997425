"""GS406-GS411, GS417, GS418, GS420, GS340, GS341: how backward computes, rather than what."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.rules.case import REVERSE, SECOND_ORDER, VMAPS, FunctionCase, hint
from gradscope.functions.rules.fault import Violation
from gradscope.functions.rules.saving import first_write
from gradscope.functions.source import Method, called_name
from gradscope.model.finding import Severity


def detaching(method: Method | None) -> ast.AST | None:
    """The first .data, detach() or no_grad of a method."""
    for node in method.walk() if method else ():
        if isinstance(node, ast.Attribute) and node.attr == "data":
            return node
        if isinstance(node, ast.Call) and called_name(node) in ("detach", "detach_", "no_grad", "inference_mode"):
            return node
    return None


def through_numpy(method: Method | None) -> ast.AST | None:
    """The first use of numpy of a method."""
    for node in method.walk() if method else ():
        if isinstance(node, ast.Call) and called_name(node) in ("numpy", "from_numpy", "to_numpy"):
            return node
        if isinstance(node, ast.Name) and node.id in ("np", "numpy"):
            return node
    return None


def not_twice(case: FunctionCase, node: ast.AST | None, message: str) -> Iterator[Violation]:
    """The fault of a backward that cannot be differentiated and does not say so."""
    if node is None or case.subject.once_differentiable:
        return
    explains = case.failing(*SECOND_ORDER)
    if explains:
        yield Violation(f"{message}: second derivatives are silently wrong", case.at("backward", node), explains)
    elif not case.ran(*SECOND_ORDER):
        yield hint(f"{message}: second derivatives could not be tried", case.at("backward", node))


def detached_backward(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward uses .data, detach() or no_grad and is not declared once_differentiable.
    Why: the gradient comes out right, but nothing connects it with the inputs: second derivatives are silently zero
    or wrong.
    Do instead: leave the detaching out, or put @once_differentiable above backward so that a second derivative raises.
    How it is decided: a hint in the source, confirmed by second derivatives that disagree with differences of the
    first.
    """
    yield from not_twice(case, detaching(case.backward), "backward detaches what it computes with")


def numpy_backward(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward goes through numpy and is not declared once_differentiable.
    Why: autograd does not see numpy: second derivatives are silently zero or wrong.
    Do instead: put @once_differentiable above backward, or wrap the numpy part in a Function of its own.
    How it is decided: a hint in the source, confirmed by second derivatives that disagree with differences of the
    first.
    """
    yield from not_twice(case, through_numpy(case.backward), "backward computes with numpy")


def grad_output_mutated(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward writes into the gradient that it gets.
    Why: the same tensor may go to other nodes as well (an addition passes it on unchanged): their gradients are
    silently wrong.
    Do instead: use the operator that is not in place.
    How it is decided: the incoming gradient is compared before and after backward.
    """
    if case.gives_wrong("gout_mutated"):
        first = case.at("backward", first_write(case.backward))
        yield Violation(
            "backward writes into the incoming gradient",
            first,
            case.failing(
                "gout_mutated",
                "backward_twice",
                "expanded_gout",
                "one_output",
                "grad_buffer_reuse",
                *SECOND_ORDER,
                *REVERSE,
            ),
        )


def nondeterministic_backward(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward gives different gradients for the same inputs and the same random state.
    Why: runs cannot be repeated; random numbers drawn in backward are not those of forward.
    Do instead: draw random numbers in forward and save them.
    How it is decided: forward and backward are run twice from the same start, and backward twice over one graph.
    """
    backward = case.backward
    draws = (
        backward.calls(
            "rand", "randn", "rand_like", "randn_like", "bernoulli", "dropout", "normal_", "uniform_", "randperm"
        )
        if backward
        else []
    )
    if case.fact("eager_bwd", "nondeterministic") or (draws and case.failing("backward_twice")):
        yield Violation(
            "the same backward gives different gradients",
            case.at("backward", draws[0] if draws else None),
            case.failing(),
        )


def noncontiguous_input(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: wrong values or an exception for inputs whose elements are not contiguous in memory.
    Why: as_strided, view and raw pointers read memory in storage order; transposed inputs are common.
    Do instead: call .contiguous() first, or use reshape and the tensor's own strides.
    How it is decided: the same values are given with other strides.
    """
    explains = case.failing("noncontig")
    if explains and case.ok("eager_fwd"):
        outcome = case.outcome("noncontig")
        in_forward = case.fact("noncontig", "forward") is not False and outcome.method != "backward"
        yield Violation(
            f"non-contiguous inputs: {outcome.detail}",
            outcome.site or case.site("forward" if in_forward else "backward"),
            (
                *explains,
                *(case.same_cause("noncontig") if outcome.site else ()),
                *(case.failing(*VMAPS, "jacrev", "jacfwd", "hessian", "jvp_grad") if in_forward else ()),
            ),
        )


def expanded_grad_output(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward fails or is wrong for an incoming gradient that is expanded or not contiguous.
    Why: sum() sends one number expanded to the whole shape (strides 0): view, as_strided and writes in place do not
    work on it.
    Do instead: grad.contiguous() or reshape instead of view.
    How it is decided: an expanded and a transposed incoming gradient are compared with a full one.
    """
    explains = case.failing("expanded_gout")
    if explains and (case.outcome("eager_bwd").status.failed is False):
        outcome = case.outcome("expanded_gout")
        yield Violation(
            f"expanded or transposed incoming gradient: {outcome.detail}",
            outcome.site or case.site("backward"),
            (*explains, *case.same_cause("expanded_gout")) if outcome.site else explains,
        )


def gradient_buffer_reused(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward returns a buffer that it uses again.
    Why: autograd may keep the returned tensor as .grad without a copy: the next backward overwrites it.
    Do instead: return a new tensor.
    How it is decided: a gradient is compared with a copy of itself after another backward.
    """
    if case.gives_wrong("grad_buffer_reuse"):
        yield Violation(
            "backward returns a buffer that a later backward overwrites", case.site("backward"), case.needing_backward()
        )


def grad_output_ignored(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward does not multiply with the incoming gradient.
    Why: the gradient is right only when the Function is the last step of the loss; anywhere else it is silently wrong.
    Do instead: multiply with grad_output.
    How it is decided: twice the incoming gradient must give twice the gradient. Where it may be meant to differ from
    the formula's, it must change with the incoming one at all: that for each input which forward computes with.
    """
    expected = case.fact("eager_bwd", "ignores") or not case.custom_gradient
    if case.failing("eager_bwd") and case.fact("eager_bwd", "nonlinear") and expected:
        told = "the gradient does not follow the incoming gradient"
        if case.fact("eager_bwd", "ignores"):
            told = "the gradient is the same whatever comes in: backward makes nothing of the incoming gradient"
        yield Violation(told, case.site("backward"), case.failing())


def depends_on_grad_mode(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward computes other values under torch.no_grad() than with grad mode on.
    Why: evaluation and training silently disagree.
    Do instead: let forward compute the same in both.
    How it is decided: the outputs with and without grad mode are compared.
    """
    if case.fact("eager_fwd", "grad_mode") and case.failing("eager_fwd"):
        forward = case.method("forward")
        node = next(iter(forward.calls("is_grad_enabled", "is_inference_mode_enabled")), None) if forward else None
        yield Violation("forward gives other values under torch.no_grad()", case.at("forward", node), case.failing())


def depends_on_transform(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward computes other values under a torch.func transform than in eager mode.
    Why: per-sample gradients, Hessians and training silently disagree.
    Do instead: do not ask in forward whether a transform is active, and do not write to tensors that are outputs.
    How it is decided: the outputs under vjp, jvp and a generated vmap rule are compared with eager's.
    """
    forks = case.subject.generates_vmap and case.gives_wrong("vmap")
    if forks or case.fact("vjp", "primal") or case.fact("jvp", "primal") or case.fact("vjp", "output_changed"):
        explains = case.failing(
            "vjp",
            "jvp",
            "grad",
            "jacrev",
            "jacfwd",
            "hessian",
            "jvp_grad",
            "grad_grad",
            "functional_call",
            "dead_wrapper",
            *VMAPS,
        )
        if explains:
            yield Violation(
                "forward gives other values under a transform than in eager mode", case.site("forward"), explains
            )


def grad_in_backward(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward calls torch.autograd.grad, .backward() or requires_grad_().
    Why: eager mode takes it (checkpointing does it), but torch.func refuses it inside of transforms, and
    torch.compile too.
    Do instead: write the derivative out, or call torch.func.vjp inside backward.
    How it is decided: a hint in the source, confirmed when func.grad raises.
    """
    backward = case.backward
    calls = backward.calls("grad", "backward", "requires_grad_") if backward else []
    calls = [c for c in calls if not (called_name(c) == "grad" and "func" in ast.dump(c.func))]
    explains = case.failing(
        "grad",
        "vjp",
        "jacrev",
        "functional_call",
        "hessian",
        "jvp_grad",
        "grad_grad",
        *VMAPS,
        "compile",
        "compiled_autograd",
    )
    raising = tuple(n for n in explains if case.outcome(n).status.value == "raises")
    if calls and raising:
        yield Violation(
            "backward uses autograd itself, which torch.func refuses", case.at("backward", calls[0]), raising
        )


def outlives_transform(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: the Function keeps a tensor from inside a transform (a cache in a global or on the class) and
    uses it after the transform has ended.
    Why: the tensor is a wrapper of that transform: one of vmap has the whole batch inside and raises "escaped from
    inside a function being vmapped", or later values are silently others.
    Do instead: key caches by nothing that a transform wraps: fill them with plain tensors (made from sizes, dtype and
    device, not with ones_like(x)), or not at all.
    How it is decided: in a new process the Function is called under vmap and func.grad first, then plainly; and
    tensors that escaped from func.grad are passed to it.
    """
    outcome = case.outcome("dead_wrapper")
    if case.failing("dead_wrapper") and case.ok("eager_fwd"):
        explains = (*case.failing("dead_wrapper"), *case.raising("escaped from inside a function"))
        yield Violation(f"after a transform: {outcome.detail}", outcome.site or case.site("forward"), explains)


def once_differentiable_under_func(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: @once_differentiable on a Function that promises torch.func.
    Why: func.grad(func.grad(f)) is silently zero and so is autograd.grad, which prunes the node that would raise;
    only .backward() raises.
    Do instead: make backward differentiable, or promise only --level eager.
    How it is decided: from the decorator, confirmed by a wrong second derivative under func.grad. A warning at
    level eager.
    """
    trials = ("grad_grad", "hessian", "jvp_grad")
    explains = case.failing(*trials)
    if case.subject.once_differentiable and case.wrong(*trials) and explains:
        severity = None if case.promises_func else Severity.INFO
        yield Violation(
            "once_differentiable does not hold under torch.func: second derivatives are silently wrong",
            case.site("backward"),
            explains,
            severity,
        )
