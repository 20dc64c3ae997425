"""GS320-GS330: forward-mode differentiation, and functionalize."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.functions.rules.case import SECOND_ORDER, TANGENTS, FunctionCase
from gradscope.functions.rules.fault import Violation


def no_jvp(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a Function without jvp.
    Why: forward-mode AD raises NotImplementedError "You must implement the jvp function": jvp, jacfwd and hessian.
    Do instead: write jvp(ctx, *tangents); where it is short, it also makes hessian cheap.
    How it is decided: from the class's attributes. It is a limit, not a defect.
    """
    subject = case.subject
    above_eager = case.promises_func or subject.separate_context
    if subject.function is not None and subject.has("forward") and not subject.has("jvp") and above_eager:
        yield Violation(
            "there is no jvp: forward-mode AD raises", subject.site, case.raising("implement the jvp function", "jvp")
        )


def jvp_wrong(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: jvp returns tangents that disagree with numerical differences and so with backward.
    Why: jacfwd, hessian and jvp are silently wrong.
    Do instead: correct the formula; jvp is the Jacobian times the tangent, backward its transpose times the gradient.
    How it is decided: tangents are compared with numerical differences along a fixed direction, for all inputs and
    one at a time; where the gradient is custom by design, they may follow backward instead.
    """
    explains = tuple(n for n in case.failing(*TANGENTS) if case.outcome(n).status.value == "wrong")
    first_order = [n for n in explains if n not in SECOND_ORDER]
    if case.subject.has("jvp") and first_order:
        first = first_order[0]
        yield Violation(f"jvp is wrong: {case.outcome(first).detail}", case.site("jvp"), explains)


def jvp_without_save_for_forward(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: jvp reads ctx.saved_tensors, which nobody filled with save_for_forward.
    Why: save_for_backward does not serve jvp: saved_tensors is empty there, and unpacking raises ValueError.
    Do instead: call ctx.save_for_forward with the same tensors, too.
    How it is decided: jvp reads saved_tensors, no save_for_forward was noted, and a forward-mode trial raises.
    """
    method = case.method("jvp")
    if method is None or case.anatomy.saved_for_forward or not method.attributes("saved_tensors"):
        return
    if any(m.context_calls("save_for_forward") for m in case.subject.context_methods):
        return
    explains = case.failing(*TANGENTS)
    if explains:
        yield Violation(
            "jvp reads ctx.saved_tensors, but save_for_forward is never called",
            method.at(method.attributes("saved_tensors")[0]),
            explains,
        )


def jvp_none_tangent(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: jvp fails when one input has no tangent.
    Why: torch passes None for it: TypeError or AttributeError. Differentiating with respect to one of several
    inputs is the usual case.
    Do instead: test each tangent for None.
    How it is decided: jvp with a tangent for one input at a time raises although jvp with all tangents works.
    """
    explains = case.raising("NoneType", trials=TANGENTS)
    if case.subject.has("jvp") and explains:
        yield Violation(
            f"jvp does not expect None for a missing tangent: {case.outcome(explains[0]).detail}",
            case.raised_at(explains, "jvp"),
            (*explains, *case.failing(*TANGENTS)),
        )


def jvp_arity(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: jvp takes another number of tangents than forward has inputs, or returns another number than
    it has outputs.
    Why: torch passes one per input, None for those that are no tensors: TypeError; a wrong number of returned
    tangents raises, too.
    Do instead: one parameter per input of forward after ctx, one returned tangent per output.
    How it is decided: from jvp's signature and torch's own refusal.
    """
    method, count = case.method("jvp"), len(case.anatomy.input_shapes)
    if method is None or not count:
        return
    explains = case.raising(
        "incorrect number of", "positional argument", "number of outputs", "tangents", trials=TANGENTS
    )
    misfit = not method.takes_any and len(method.names) - 1 != count
    returned = case.raising("forward derivative", "incorrect number of", "number of tangents", trials=TANGENTS)
    if misfit or returned:
        what = (
            f"jvp takes {len(method.names) - 1} tangents for {count} inputs"
            if misfit
            else "jvp returns another number of tangents than forward has outputs"
        )
        yield Violation(what, method.site, (*explains, *returned, *(case.failing(*TANGENTS) if misfit else ())))


def jvp_view_rule(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a Function whose output is a view of its input and whose jvp returns a tangent that is no view.
    Why: plain forward-mode AD raises then; torch.func.jvp does not.
    Do instead: return from jvp the same view of the tangent, or return a copy from forward.
    How it is decided: plain forward AD raises although func.jvp works.
    """
    explains = case.failing("fwad", "gradcheck_fwd")
    if (
        case.subject.has("jvp")
        and case.ok("jvp")
        and "fwad" in explains
        and case.outcome("fwad").status.value == "raises"
    ):
        yield Violation(
            f"plain forward-mode AD refuses what func.jvp takes: {case.outcome('fwad').detail}",
            case.site("jvp"),
            explains,
        )


def functionalize(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: torch.func.functionalize on a Function with setup_context.
    Why: torch 2.13 has no rule for it: "NYI: Functionalize rule for custom_function_call", whatever the Function does.
    Do instead: nothing; functionalize the code around it, or use torch.library.custom_op.
    How it is decided: by running it. It is a limit of torch and is said once.
    """
    explains = case.raising("Functionalize rule")
    if explains:
        yield Violation("torch.func.functionalize takes no custom Function (said once)", case.subject.site, explains)
