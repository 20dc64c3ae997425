"""GS205-GS209, GS223-GS225, GS501: what is saved for backward, and whether that is enough for a second derivative."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.rules.case import REVERSE, FunctionCase, hint
from gradscope.functions.rules.context import save_site
from gradscope.functions.rules.fault import Violation
from gradscope.functions.source import Method
from gradscope.model.finding import Severity
from gradscope.model.site import Site

_NO_HISTORY = (  # how torch says that a gradient does not lead to what is asked for
    "does not require grad and does not have a grad_fn",
    "appears to not have been used in the graph",
)


def saved_intermediates(case: FunctionCase) -> bool:
    """Whether something is saved that is neither an input nor an output."""
    return any(name == "intermediate" for names in case.anatomy.saved for name in names)


def held_intermediates(case: FunctionCase) -> bool:
    """Whether ctx holds, as an attribute, something that is neither an input nor an output."""
    return any(kept.what == "intermediate" for kept in case.anatomy.kept)


def second_order(case: FunctionCase, message: str, explains: tuple[str, ...]) -> Iterator[Violation]:
    """The fault if a second-order trial failed for it; a note if none ran; nothing when they were right."""
    if case.wrong(*explains):
        yield Violation(message + ": second derivatives are silently wrong", save_site(case), explains)
    elif explains:
        unconnected = case.raising(*_NO_HISTORY, trials=explains)
        if unconnected:
            yield Violation(message + ": second derivatives raise", save_site(case), unconnected)
    elif not case.ran("eager_bwd2", "gradgradcheck") and not case.subject.once_differentiable and case.backward:
        yield hint(message + "; whether second derivatives are right could not be tried", save_site(case))


def compute_in_setup_context(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: setup_context computes a tensor from inputs or outputs and saves it.
    Why: setup_context runs outside of the graph: backward sees a constant, and the second derivative is silently wrong.
    Do instead: compute it in backward from saved inputs, or return it from forward as a further output; or declare
    @once_differentiable.
    How it is decided: an intermediate is saved, setup_context is defined, and second derivatives disagree with
    differences of the first, or raise because the gradient does not depend on the inputs.
    """
    if case.subject.separate_context and saved_intermediates(case):
        yield from second_order(case, "setup_context saves a tensor that it computed", case.second_order_fault())


def saved_intermediate(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward saves a tensor that is neither an input nor an output.
    Why: nothing connects it with the inputs: backward treats it as a constant, and the second derivative is
    silently wrong.
    Do instead: compute it again in backward from saved inputs, return it as an output, or declare @once_differentiable.
    How it is decided: what is saved is compared with inputs and outputs; an error only when second derivatives
    disagree with differences of the first, or raise because the gradient does not depend on the inputs.
    """
    if not case.subject.separate_context and saved_intermediates(case):
        yield from second_order(
            case, "forward saves a tensor that is neither input nor output", case.second_order_fault()
        )
    elif not case.subject.separate_context and held_intermediates(case) and case.second_order_fault():
        yield from second_order(case, "ctx holds a tensor that is neither input nor output", case.second_order_fault())


def intermediate_grad_ignored(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a helper tensor is returned as an output and saved, but backward ignores the gradient that
    comes for it.
    Why: double backward sends a gradient into that output; ignoring it makes the second derivative silently wrong.
    Do instead: use the gradient of every output that backward reads from the saved tensors.
    How it is decided: a saved output whose gradient parameter backward never reads, confirmed by a wrong second
    derivative.
    """
    backward = case.method("backward")
    if backward is None or case.subject.once_differentiable:
        return
    saved = {name for names in case.anatomy.saved for name in names if name.startswith("output")}
    for name in sorted(saved):
        index = int(name.split()[1])
        parameter = backward.names[index + 1] if index + 1 < len(backward.names) else ""
        if (
            index not in case.differentiable_outputs
            or not parameter
            or backward.reads(parameter)
            or len(case.anatomy.outputs) == 1
        ):
            continue
        explains = (*case.second_order_fault(), *case.failing(*REVERSE, "one_output"))
        message = f"backward reads the saved output {index} but ignores its gradient {parameter}"
        if explains:
            yield Violation(message + ": second derivatives are silently wrong", backward.site, explains)


def save_twice(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: ctx.save_for_backward called more than once.
    Why: the last call wins; what earlier calls saved is silently gone.
    Do instead: one call with all tensors.
    How it is decided: calls are counted while forward and setup_context run.
    """
    if len(case.anatomy.saved) > 1:
        calls = [(m, c) for m in case.subject.context_methods for c in m.context_calls("save_for_backward")]
        site = calls[1][0].at(calls[1][1]) if len(calls) > 1 else save_site(case)
        yield Violation(
            f"ctx.save_for_backward is called {len(case.anatomy.saved)} times; only the last call counts",
            site,
            case.failing(),
        )


def save_nontensor(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: something that is no tensor passed to ctx.save_for_backward.
    Why: TypeError "save_for_backward can only save variables"; torch.compile takes it, which hides the fault.
    Do instead: keep plain values as attributes: ctx.dim = dim.
    How it is decided: what is saved is noted while forward runs.
    """
    bad = [name for names in case.anatomy.saved for name in names if name.startswith("no tensor")]
    explains = case.failing()
    if bad and case.failing("eager_fwd"):
        yield Violation(f"ctx.save_for_backward gets {bad[0]}", save_site(case), explains)


def clear_saved_on_access(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: clear_saved_tensors_on_access = True, and ctx.saved_tensors read more than once.
    Why: the first read frees the tensors: a second read raises, and so does a second backward with retain_graph=True.
    Do instead: read ctx.saved_tensors once into names; leave the flag out when the graph is used twice.
    How it is decided: from the class's attributes and the source of backward; one read is only a note.
    """
    if not getattr(case.subject.function, "clear_saved_tensors_on_access", False):
        return
    backward = case.backward
    reads = backward.attributes("saved_tensors") if backward else []
    if len(reads) > 1:
        yield Violation(
            "ctx.saved_tensors is read twice although the first read clears it",
            case.at("backward", reads[1]),
            case.failing(),
        )
    else:
        explains = (
            *case.raising(
                "clear_saved_tensors_on_access", "saved_tensors", "already been freed", "already been accessed"
            ),
            *case.failing("backward_twice", "gradcheck", "jacrev"),
        )
        yield Violation(
            "clear_saved_tensors_on_access rules out a second backward over the same graph",
            case.subject.site,
            explains,
            Severity.INFO,
        )


def saved_tensor_mutated(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward writes into a saved tensor.
    Why: the second pass over the graph raises a version error, other users of the tensor see the change, and
    func.vjp silently changes its own output. Through .data nothing raises: the nodes that saved the same tensor compute
    with what was written.
    Do instead: write into a copy or use the operator that is not in place.
    How it is decided: the versions and the values of the saved tensors before and after backward.
    """
    if case.anatomy.saved_changed and not case.anatomy.saves_in_backward:
        yield Violation("backward writes into a saved tensor", inplace_site(case), case.needing_backward())


def inplace_site(case: FunctionCase) -> Site | None:
    """The first line of backward that looks like a write in place."""
    return case.at("backward", first_write(case.backward))


def first_write(method: Method | None) -> ast.AST | None:
    """The first in-place operator, augmented assignment or item assignment of a method."""
    for node in method.walk() if method else ():
        name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        if name.endswith("_") and not name.endswith("__") and name != "requires_grad_":
            return node
        if isinstance(node, ast.AugAssign) or (
            isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
        ):
            return node
    return None


def save_order_differs(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: save_for_backward and save_for_forward with different tensors or another order, under
    generate_vmap_rule.
    Why: the generated rule keeps one list of batch dimensions for both: grad of vmap with in_dims=(0, None) is
    silently wrong when sizes are equal.
    Do instead: pass the same tensors in the same order to both.
    How it is decided: from the arguments in the source, under generate_vmap_rule = True.
    """
    if not case.subject.generates_vmap:
        return
    for method in case.subject.context_methods:
        backward, forward = method.context_calls("save_for_backward"), method.context_calls("save_for_forward")
        if backward and forward and [ast.dump(a) for a in backward[-1].args] != [ast.dump(a) for a in forward[-1].args]:
            yield Violation(
                "save_for_forward and save_for_backward differ, which the generated vmap rule mixes up",
                method.at(forward[-1]),
                case.failing("grad_vmap", "grad_vmap_partial", "eager_grad_of_vmap", "vmap_grad"),
            )


def saved_never_read(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a saved tensor that does not influence the gradient: never read, or read for its shape only.
    Why: it keeps memory alive from forward to backward for nothing.
    Do instead: do not save it; keep x.shape on ctx when only the shape is needed.
    How it is decided: each saved tensor is replaced by NaN in a backward; if the gradient stays the same, nobody
    reads its values.
    """
    if case.gives_wrong("saved_read"):
        number = case.fact("saved_read", "number")
        yield Violation(
            case.outcome("saved_read").detail,
            save_site(case),
            case.failing("saved_read"),
            Severity.WARNING if number is not None else None,
        )
