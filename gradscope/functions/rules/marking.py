"""GS210-GS221: which tensors forward writes, marks and returns, and which gradients are asked for."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from gradscope.functions.rules.case import REVERSE, VMAPS, FunctionCase
from gradscope.functions.rules.fault import Violation
from gradscope.functions.rules.saving import first_write
from gradscope.functions.source import Method
from gradscope.model.site import Site


def call_site(case: FunctionCase, name: str) -> Site | None:
    """The line of the first ctx.<name>(...) in forward or setup_context."""
    for method in case.subject.context_methods:
        calls = method.context_calls(name)
        if calls:
            return method.at(calls[0])
    return case.site("setup_context", "forward")


def unmarked_inplace(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward writes into an input without ctx.mark_dirty, perhaps through numpy.
    Why: autograd does not learn of it: the graph before the input keeps using old values, and gradients are
    silently wrong.
    Do instead: compute a new tensor, or call ctx.mark_dirty(x) and return x.
    How it is decided: the inputs' values before and after apply are compared.
    """
    if case.gives_wrong("input_mutated"):
        write = first_write(case.method("forward"))
        yield Violation(case.outcome("input_mutated").detail, case.at("forward", write), case.failing())


def dirty_not_input(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: ctx.mark_dirty called with a tensor that is no input.
    Why: only inputs can be dirty; torch warns and ignores it, the values are right.
    Do instead: leave the call out.
    How it is decided: the marked tensors are noted while forward runs and compared with the inputs.
    """
    strange = [name for name in case.anatomy.dirty if not name.startswith("input")]
    if strange:
        yield Violation(
            f"ctx.mark_dirty gets {strange[0]}, which is no input",
            call_site(case, "mark_dirty"),
            case.raising("Only input", "dirty"),
        )


def dirty_not_returned(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: an input is marked dirty but not returned.
    Why: RuntimeError "Some elements marked as dirty during the forward method were not returned as output".
    Do instead: return the tensor that was written.
    How it is decided: torch's own refusal in eager mode.
    """
    if case.raising("marked as dirty during the forward", trials=("eager_fwd",)):
        yield Violation(
            "an input is marked dirty but not returned",
            call_site(case, "mark_dirty"),
            case.raising("marked as dirty during the forward"),
        )


def dirty_with_generated_vmap(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: ctx.mark_dirty together with generate_vmap_rule = True.
    Why: torch 2.13 takes mark_dirty under grad, jvp and a hand-written vmap rule, but the generated rule loses the
    tensor's identity and raises under vmap.
    Do instead: write the vmap method by hand, or compute out of place.
    How it is decided: vmap raises the message about dirty elements.
    """
    explains = case.raising("marked as dirty during the forward", trials=VMAPS)
    if case.subject.generates_vmap and explains:
        yield Violation(
            "mark_dirty does not work with generate_vmap_rule",
            call_site(case, "mark_dirty"),
            (*explains, *case.failing(*VMAPS)),
        )


def input_as_is_saved(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: an input returned unchanged is saved as an output.
    Why: RuntimeError "A input that has been returned as-is as output is being saved for backward"; torch.compile
    takes it.
    Do instead: return x.view_as(x) or a clone, or save the input.
    How it is decided: torch's own refusal.
    """
    explains = case.raising("returned as-is as output is being saved")
    if explains:
        yield Violation("an input that is returned as it is gets saved", call_site(case, "save_for_backward"), explains)


def view_output(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: an output that is a view of an input.
    Why: a caller who writes into it in place gets RuntimeError: the custom backward cannot follow writes through a
    view.
    Do instead: return a copy (x[...].clone()), or tell callers that the output must not be written.
    How it is decided: the output is written in place after forward.
    """
    explains = case.raising("is a view and is being modified", "view", trials=("out_inplace", "saved_inplace"))
    if explains and ("view" in case.anatomy.outputs or "input" in case.anatomy.outputs):
        yield Violation("an output is a view of an input: writing into it raises", case.site("forward"), explains)


def pairs(case: FunctionCase) -> dict[tuple[int, int], str]:
    """How gradcheck's outputs and inputs compare."""
    found: dict[tuple[int, int], str] = case.fact("gradcheck", "pairs") or {}
    return found


def nondiff_output_unmarked(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: one of several outputs whose gradient backward drops, without ctx.mark_non_differentiable.
    Why: the output says requires_grad, so a loss may use it, and its share of the gradient is silently zero.
    Do instead: mark it with ctx.mark_non_differentiable, or use its gradient.
    How it is decided: numerical differences say that the output depends on the inputs; the gradient through it
    alone is zero.
    """
    if not case.anatomy.outputs:
        return
    by_output: dict[int, set[str]] = {}
    for (output, _), kind in pairs(case).items():
        by_output.setdefault(output, set()).add(kind)
    dropped = [
        o for o, kinds in by_output.items() if "missing" in kinds and kinds <= {"missing", "ok"} and not used(case, o)
    ]
    if case.unexplained("gradcheck") and len(by_output) > 1 and dropped and len(dropped) < len(by_output):
        number = case.differentiable_outputs[dropped[0]]
        explains = tuple(n for n in case.failing(*REVERSE, "one_output") if case.fact(n, "differs") != "eager")
        yield Violation(
            f"backward drops the gradient of output {number}, which is not marked non-differentiable",
            case.site("backward"),
            explains,
        )


def used(case: FunctionCase, output: int) -> bool:
    """Whether backward reads the gradient of a differentiable output at all."""
    backward = case.method("backward")
    position = case.differentiable_outputs[output] + 1
    return (
        backward is None
        or backward.takes_any
        or position >= len(backward.names)
        or backward.reads(backward.names[position])
    )


def wrong_output_marked(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: ctx.mark_non_differentiable on the wrong output, so that the values do not require grad.
    Why: the loss does not depend on the inputs any more: silent zero gradient or "does not require grad".
    Do instead: mark the outputs that have no derivative (indices, masks), not the values.
    How it is decided: every floating output is marked although backward exists, or a marked output is floating
    while an integer one is not marked.
    """
    anatomy = case.anatomy
    marked = [
        i
        for i in anatomy.nondifferentiable
        if i < len(anatomy.outputs) and anatomy.outputs[i] in ("float", "view", "input")
    ]
    free = [i for i, kind in enumerate(anatomy.outputs) if i not in anatomy.nondifferentiable]
    none_left = not case.differentiable_outputs
    backward = case.method("backward")
    reads = bool(
        backward and marked and marked[0] + 1 < len(backward.names) and backward.reads(backward.names[marked[0] + 1])
    )
    if marked and reads and (none_left or any(anatomy.outputs[i] == "integer" for i in free)):
        yield Violation(
            f"output {marked[0]} is marked non-differentiable although backward computes its gradient",
            call_site(case, "mark_non_differentiable"),
            case.failing(),
        )


def materialize_none(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: ctx.set_materialize_grads(False) and a backward that does not expect None.
    Why: the gradient of an unused output then arrives as None instead of zeros: TypeError, or an AttributeError.
    Do instead: handle None in backward, or leave set_materialize_grads alone.
    How it is decided: backward is run with one output used at a time.
    """
    explains = tuple(
        n
        for n in case.failing(
            "one_output", "gradcheck", "eager_bwd", "jacrev", "eager_bwd2", "gradgradcheck", "saved_hooks"
        )
        if "None" in case.outcome(n).message
    )
    if explains and not case.anatomy.materialize:
        yield Violation(
            "backward gets None for an unused output and does not expect it",
            case.raised_at(explains, "backward"),
            (*explains, *case.same_cause(explains[0])),
        )


def needs_input_grad_ignored(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward computes gradients that nobody asked for.
    Why: frozen inputs are common; their gradients are computed and thrown away.
    Do instead: compute each gradient only if ctx.needs_input_grad says so, and return None otherwise.
    How it is decided: backward is run with one input requiring grad, and what it returns for the others is looked at.
    """
    if case.gives_wrong("needless_grad") and case.ok("eager_bwd"):
        yield Violation(case.outcome("needless_grad").detail, case.site("backward"), case.failing("needless_grad"))


def needs_input_grad_wrong_index(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: ctx.needs_input_grad read at the wrong index.
    Why: the indices count all arguments of forward, tensors or not: with the wrong one the gradient is silently
    None when only a subset requires grad.
    Do instead: use the position of the argument in forward, ctx not counted.
    How it is decided: each input is made to require grad alone, and its gradient is compared with that of the full run.
    """
    backward = case.backward
    reads = backward.attributes("needs_input_grad") if backward else []
    if case.gives_wrong("subset_grad") and reads:
        yield Violation(
            case.outcome("subset_grad").detail + ": ctx.needs_input_grad is read at the wrong index",
            case.at("backward", reads[0]),
            case.failing("subset_grad", "needless_grad", "jvp_partial", "grad_vmap_partial"),
        )


def captured_tensor(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward uses a tensor that requires grad from a global, a closure or the class instead of an
    argument.
    Why: autograd follows arguments only: the captured tensor silently gets no gradient, and vmap of grad may fail
    with an internal assert.
    Do instead: pass the tensor as an argument of apply.
    How it is decided: the names that forward reads from outside are looked up; a captured tensor that requires grad
    is the fault. In a run, operators in a forward under torch.func are compared with what its code can reach: one
    that read a tensor which a transform differentiates, forward mode included, and which apply was not given, or
    torch's assertion.
    """
    forward = case.method("forward")
    for name, value in captured_values(forward).items() if forward else ():
        if is_followed(value):
            node = (
                next(
                    (
                        n
                        for n in forward.walk()
                        if isinstance(n, ast.Name | ast.Attribute)
                        and name in (getattr(n, "id", ""), getattr(n, "attr", ""))
                    ),
                    None,
                )
                if forward
                else None
            )
            yield Violation(
                f"forward uses {name} from outside: it requires grad and gets none",
                case.at("forward", node),
                case.raising("internal assert", "INTERNAL ASSERT"),
            )


def is_followed(value: Any) -> bool:
    """Whether a value is a tensor that requires grad; what stands in for a missing module may raise."""
    try:
        return getattr(value, "requires_grad", False) is True and hasattr(value, "grad_fn")
    except Exception:
        return False


def captured_values(method: Method) -> dict[str, Any]:
    """What a method reads from globals and closures, by name."""
    try:
        variables = inspect.getclosurevars(inspect.unwrap(method.function))
    except (TypeError, ValueError):
        return {}
    return {**variables.globals, **variables.nonlocals}
