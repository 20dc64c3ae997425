"""GS201-GS204, GS222, GS226-GS230, GS502: what a Function keeps on ctx, on itself, and for how long."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.rules.case import FUNC, SECOND_ORDER, FunctionCase
from gradscope.functions.rules.fault import Violation
from gradscope.functions.source import is_attribute_of
from gradscope.model.finding import Severity
from gradscope.model.report import Source
from gradscope.model.site import Site

RESERVED = (
    "to_save",
    "non_differentiable",
    "dirty_tensors",
    "materialize_grads",
    "saved_tensors",
    "saved_variables",
    "saved_for_forward",
    "needs_input_grad",
    "next_functions",
    "metadata",
    "register_hook",
    "register_prehook",
    "name",
    "_raw_saved_tensors",
    "_sequence_nr",
    "_input_metadata",
)


def store_site(case: FunctionCase, attribute: str) -> Site | None:
    """The line that sets an attribute of ctx."""
    for method in case.subject.context_methods:
        node = method.context_stores().get(attribute)
        if node is not None:
            return method.at(node)
    return case.site("setup_context", "forward")


def kept_as(case: FunctionCase, kind: str) -> Iterator[Violation]:
    """A fault for each attribute of ctx that holds tensors in one kind of holder; outputs are told elsewhere."""
    for kept in case.anatomy.kept:
        if kept.kind != kind or kept.what.startswith("output"):
            continue
        stale = case.failing("saved_inplace", "out_inplace")
        severity = Severity.ERROR if stale or kept.what.startswith("input") else Severity.WARNING
        if case.source is Source.GUESSED and kept.what.startswith("input") and kept.what != "input 0":
            severity = Severity.INFO  # what authors keep so is a number more often than a tensor
        related = (
            "its gradient goes silently wrong when the tensor is overwritten"
            if stale
            else "saved-tensor hooks and version checks do not see it"
        )
        yield Violation(
            f"ctx.{kept.attribute} holds {article(kept.what)}: {related}",
            store_site(case, kept.attribute),
            (*stale, *case.failing("ctx_tensors")),
            severity,
        )


def article(what: str) -> str:
    """A noun phrase for the name of a tensor."""
    return "an intermediate tensor" if what == "intermediate" else what


def tensor_on_ctx(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: ctx.x = x with a tensor.
    Why: there is no version check: when the tensor is overwritten before backward, the gradient is silently wrong;
    saved_tensors_hooks (offloading, checkpointing) do not see it.
    Do instead: ctx.save_for_backward(x) and read it from ctx.saved_tensors.
    How it is decided: ctx is looked through after forward, and inputs are overwritten between forward and backward.
    An intermediate that cannot go stale is a warning.
    """
    yield from kept_as(case, "tensor")


def output_on_ctx(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: an output of forward kept as an attribute of ctx.
    Why: the output holds its grad_fn, the grad_fn is ctx, and ctx holds the output: the cycle keeps all memory
    until the garbage collector runs.
    Do instead: ctx.save_for_backward(output), which breaks the cycle.
    How it is decided: a weak reference to the node survives its outputs while the garbage collector is off.
    """
    for kept in case.anatomy.kept:
        if kept.what.startswith("output"):
            explains = case.failing("leak", "ctx_tensors", "out_inplace", "retained_inputs", "saved_inplace")
            yield Violation(
                f"ctx.{kept.attribute} holds {kept.what}: a reference cycle keeps it and the graph alive",
                store_site(case, kept.attribute),
                explains,
            )


def tensor_in_container_on_ctx(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a list, tuple, dict or object with tensors as an attribute of ctx.
    Why: the container hides tensors from the version check and from saved_tensors_hooks: gradients go silently
    wrong once one is overwritten.
    Do instead: pass the tensors flat to ctx.save_for_backward and keep only their order on ctx.
    How it is decided: ctx is looked through after forward, and inputs are overwritten between forward and backward.
    """
    yield from kept_as(case, "container")


def tensor_in_closure_on_ctx(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a function kept on ctx that closes over tensors.
    Why: as with a tensor on ctx there is no version check, and the graph behind the captured tensor is lost: the
    second derivative is wrong.
    Do instead: save the tensors with ctx.save_for_backward and write the function in backward.
    How it is decided: the closure cells of ctx's attributes are looked through after forward.
    """
    yield from kept_as(case, "closure")


def numpy_on_ctx(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a numpy array kept on ctx.
    Why: it is outside of autograd: no second derivative, no transform, no compile, and it may share memory with a
    tensor that changes.
    Do instead: save tensors and convert in backward; declare @once_differentiable when backward must use numpy.
    How it is decided: ctx is looked through after forward.
    """
    for kept in case.anatomy.kept:
        if kept.kind == "numpy":
            yield Violation(
                f"ctx.{kept.attribute} holds a numpy array",
                store_site(case, kept.attribute),
                case.failing("ctx_tensors", "saved_inplace", *FUNC),
            )


def reserved_ctx_name(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: an assignment to a name that torch itself uses on ctx: to_save, saved_tensors,
    needs_input_grad, name, ...
    Why: the assignment replaces or hides torch's own state: "autograd internal error", or a value that is never
    seen again.
    Do instead: use another name.
    How it is decided: from the source of forward and setup_context.
    """
    for method in case.subject.methods.values():
        for attribute, node in method.context_stores().items():
            if attribute in RESERVED and method.name != "vmap":
                yield Violation(f"ctx.{attribute} is torch's own", method.at(node), case.failing())


def retained_input(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: an input that stays alive after everything made from it is gone, in a global list or on the
    class for instance.
    Why: memory grows with every call; torch.compile refuses the side effect.
    Do instead: keep what backward needs with ctx.save_for_backward only.
    How it is decided: weak references to the inputs after forward and backward, outputs dropped and garbage collected.
    """
    if case.gives_wrong("retained_inputs"):
        yield Violation(
            case.outcome("retained_inputs").detail, case.site("forward"), case.failing("retained_inputs", "leak")
        )


def backward_mutates_ctx(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward changes attributes of ctx (a counter, a cache, a flag), so that its second run differs.
    Why: backward runs again with retain_graph=True, in jacobians and under gradcheck: the second pass computes
    something else.
    Do instead: treat ctx as read-only in backward; use local names.
    How it is decided: ctx is compared before and after backward, and two backward passes over one graph are compared.
    """
    changed = case.anatomy.kept_changed
    if changed and not case.anatomy.saves_in_backward:
        trials = case.failing("backward_twice")
        severity = None if trials else Severity.WARNING
        backward = case.backward
        node = backward.context_stores().get(changed[0]) if backward else None
        yield Violation(
            f"backward changes ctx.{changed[0]}" + (": its second run gives another gradient" if trials else ""),
            case.at("backward", node),
            (*trials, *case.failing("gradcheck", "jacrev", "threads") * bool(trials)),
            severity,
        )


def backward_saves_again(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: ctx.save_for_backward called in backward.
    Why: it replaces what forward saved, so that the second pass over the graph finds other tensors.
    Do instead: save in forward or setup_context only.
    How it is decided: calls are noted while backward runs.
    """
    backward = case.backward
    calls = backward.context_calls("save_for_backward") if backward else []
    if case.anatomy.saves_in_backward or calls:
        explains = case.failing("backward_twice", "gradcheck", "jacrev")
        yield Violation(
            "backward calls ctx.save_for_backward",
            case.at("backward", calls[0] if calls else None),
            explains,
            None if explains or case.anatomy.saves_in_backward else Severity.WARNING,
        )


def state_on_class(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward or backward stores values on the class (MyFn.x = ...) or in a global to hand them over.
    Why: they are shared: two applications before a backward, and two threads at once, overwrite each other's values.
    Do instead: keep them on ctx.
    How it is decided: the class's attributes are compared before and after a run; several applications come before
    their backwards, and several threads run at once. Only a hint in the source is a warning.
    """
    node, method = class_store(case)
    changed = case.anatomy.class_changed
    if not changed and node is None and case.fact("threads", "interleaved") and case.gives_wrong("threads"):
        detail = f"{case.outcome('threads').detail}: backward reads what forward keeps outside of ctx"
        yield Violation(detail, case.site("forward"), case.failing("threads"))
    if changed or node is not None:
        explains = case.failing()
        what = changed[0] if changed else getattr(node, "attr", "")
        certain = bool(changed)
        yield Violation(
            f"{case.subject.short_name}.{what} is changed by a run",
            case.at(method, node),
            explains,
            None if certain else Severity.WARNING,
            certain,
        )


def class_store(case: FunctionCase) -> tuple[ast.AST | None, str]:
    """The first assignment to an attribute of the class in one of its methods, and the method's name."""
    for method in case.subject.methods.values():
        for node in method.walk():
            stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if stored and any(is_attribute_of(node, name) for name in (case.subject.short_name, "cls")):
                return node, method.name
    return None, "forward"


def view_of_output_saved(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a view of an output (y.view(...), y[0], y.detach()) saved or kept, so that the graph is never
    freed.
    Why: torch unpacks a saved output without a cycle, but a view of it holds the output's grad_fn: the leak
    survives even gc.collect().
    Do instead: save the output itself and take the view in backward.
    How it is decided: a weak reference to the node survives its outputs and a garbage collection.
    """
    if case.failing("leak") and case.fact("leak", "survives"):
        yield Violation(
            "the node is never freed: it holds a view of its own output",
            save_site(case),
            case.failing("leak", "retained_inputs", "out_inplace", "saved_inplace", *SECOND_ORDER),
        )
    elif case.failing("leak") and any("output" in name for names in case.anatomy.saved for name in names):
        yield Violation(
            "the node is freed only by the garbage collector: it holds a view of its own output",
            save_site(case),
            case.failing("leak", *SECOND_ORDER),
        )


def save_site(case: FunctionCase) -> Site | None:
    """The line of the first ctx.save_for_backward."""
    for method in case.subject.context_methods:
        calls = method.context_calls("save_for_backward")
        if calls:
            return method.at(calls[0])
    return case.site("setup_context", "forward")
