"""GS108, GS109, GS112-GS117, GS120, GS121, GS123, GS124: what the methods take and return."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.rules.case import COMPILED, FUNC, VMAPS, FunctionCase
from gradscope.functions.rules.fault import Violation
from gradscope.model.finding import Severity
from gradscope.model.report import Source

TORCH_SPEAKS = ("NotImplementedError",)


def backward_arity(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward takes more or fewer gradients than forward returns outputs.
    Why: torch passes one gradient per output, also for outputs that are not differentiable: TypeError in the
    backward pass.
    Do instead: give backward one parameter per output, after ctx.
    How it is decided: from backward's signature and the number of outputs that forward returned when it was run,
    confirmed by a backward that raises TypeError.
    """
    backward, count = case.method("backward"), len(case.anatomy.outputs)
    if backward is None or backward.takes_any or not count or case.anatomy.output_kind in ("list", "dict", "nothing"):
        return
    required = (
        sum(p.default is p.empty for p in backward.parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
        - 1
    )
    if not required <= count <= len(backward.names) - 1 and not getattr(
        case.subject.function, "boxed_grads_call", False
    ):
        if not case.raising("positional argument"):
            return  # no backward failed
        explains = case.needing_backward()
        yield Violation(
            f"backward takes {len(backward.names) - 1} gradients, forward returns {count} outputs",
            backward.site,
            explains,
        )


def grad_count(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward returns more or fewer gradients than forward has inputs. A list counts as one gradient.
    Why: RuntimeError "returned an incorrect number of gradients"; surplus trailing None are allowed; torch.compile
    hides it.
    Do instead: return a tuple with one entry per input of forward, None where an input has no gradient.
    How it is decided: torch's own refusal when backward is run.
    """
    explains = case.raising("incorrect number of gradients")
    kind = case.anatomy.returned_kind
    if explains or kind == "list":
        what = "a list, which counts as one gradient" if kind == "list" else f"{len(case.anatomy.returned)} gradients"
        yield Violation(
            f"backward returns {what} for {len(case.anatomy.input_shapes)} inputs",
            case.site("backward"),
            case.needing_backward(),
        )


def setup_args_swapped(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: setup_context(ctx, output, inputs): the last two parameters in the wrong order.
    Why: torch passes (ctx, inputs, output) by position; the names hide that the wrong tensors are saved, and the
    gradient is silently wrong.
    Do instead: write setup_context(ctx, inputs, output).
    How it is decided: from the parameters' names; an error when a trial shows that values are wrong, else a warning.
    """
    method = case.method("setup_context")
    if method is None or len(method.names) < 3:
        return
    second, third = method.names[1].lower(), method.names[2].lower()
    if second.startswith(("out", "result", "ret")) or third.startswith(("inp", "arg")):
        explains = (*case.failing("gradcheck", "eager_bwd", "eager_fwd"), *case.failing())
        severity = None if explains else Severity.WARNING
        yield Violation(
            f"setup_context takes ({method.names[1]}, {method.names[2]}); torch passes (inputs, output)",
            method.site,
            explains,
            severity,
            bool(explains),
        )


def grad_for_nontensor(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward returns a gradient for an input that is no tensor.
    Why: RuntimeError "returned a gradient different than None at position ..., but the corresponding forward input
    was not a Variable".
    Do instead: return None in that place.
    How it is decided: torch's own refusal when backward is run.
    """
    explains = case.raising("gradient different than None")
    if explains:
        bad = [
            i
            for i, r in enumerate(case.anatomy.returned)
            if r.kind != "none" and i < len(case.anatomy.input_shapes) and case.anatomy.input_shapes[i] is None
        ]
        yield Violation(
            f"backward returns a gradient for input {bad[0] if bad else '?'}, which is no tensor",
            case.site("backward"),
            case.needing_backward(),
        )


def list_or_dict_output(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward returns a list or a dict of tensors.
    Why: torch looks for tensors in a tuple only: the outputs in a list or dict silently do not require grad, and
    vmap asserts.
    Do instead: return a tuple.
    How it is decided: from what forward returned when it was run.
    """
    if case.anatomy.output_kind in ("list", "dict"):
        forward = case.method("forward")
        returns = [n for n in forward.walk() if isinstance(n, ast.Return)] if forward else []
        yield Violation(
            f"forward returns a {case.anatomy.output_kind}: its tensors get no gradient",
            case.at("forward", returns[-1] if returns else None),
            case.failing(),
        )


def tensors_in_pytree(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: tensors that require grad inside a list, tuple or dict argument.
    Why: autograd sees only arguments that are tensors themselves; those inside containers silently get no gradient.
    Do instead: pass the tensors flat (apply(*tensors)) and put them together inside forward.
    How it is decided: from the inputs and from what arrives after a backward.
    """
    if case.anatomy.nested:
        yield Violation(
            f"input {case.anatomy.nested[0]} is a container of tensors that require grad: they get none",
            case.site("forward"),
            case.failing("grad_none_requires", "eager_bwd"),
        )


def namedtuple_output(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward returns a namedtuple.
    Why: apply gives back a plain tuple in eager mode, so the names are lost; vmap asserts.
    Do instead: return a plain tuple and let a wrapper around apply build the namedtuple.
    How it is decided: from what forward returned when it was run.
    """
    if case.anatomy.output_kind == "namedtuple":
        yield Violation(
            "forward returns a namedtuple, which apply turns into a plain tuple",
            case.site("forward"),
            case.failing(*VMAPS, "jacrev", "jacfwd", "hessian", "jvp_grad"),
        )


def backward_return_type(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: backward returns something that is neither a tensor nor None, a float for instance.
    Why: TypeError "expected Variable or None".
    Do instead: return a tensor of the input's shape.
    How it is decided: torch's own refusal when backward is run.
    """
    explains = case.raising("expected Variable or None", "expected Tensor or None")
    bad = [r.kind for r in case.anatomy.returned if r.kind not in ("tensor", "none")]
    if explains or (bad and case.anatomy.returned_kind != "list"):
        yield Violation(
            f"backward returns {bad[0] if bad else 'something'} where a tensor or None belongs",
            case.site("backward"),
            case.needing_backward(),
        )


def inference_tensor_saved(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a tensor made in inference mode is saved for backward.
    Why: RuntimeError "Inference tensors cannot be saved for backward".
    Do instead: clone the tensor outside of inference mode, or do not enter inference_mode in forward.
    How it is decided: torch's own refusal. It is an error when forward itself makes the tensor.
    """
    explains = case.raising("Inference tensors cannot be saved")
    if explains:
        yield Violation(
            "an inference tensor is saved for backward",
            case.raised_at(explains, "forward"),
            explains,
            Severity.ERROR if "eager_fwd" in explains else None,
        )


def one_tuple_output(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward returns a tensor and setup_context unpacks a tuple, or the reverse.
    Why: setup_context gets exactly what forward returned: `y, = output` on a tensor unpacks its first dimension.
    Do instead: unpack in setup_context what forward returns.
    How it is decided: from the source of setup_context and what forward returned when it was run, confirmed by a
    failing trial.
    """
    method = case.method("setup_context")
    if method is None or len(method.names) < 3:
        return
    output, kind = method.names[2], case.anatomy.output_kind
    unpacked = next((n for n in method.walk() if unpacks(n, output)), None)
    mixed = (kind == "tensor" and unpacked is not None) or (
        kind == "one-tuple" and unpacked is None and method.reads(output)
    )
    if mixed and case.failing():
        returned = "a tensor" if kind == "tensor" else "a tuple of one tensor"
        yield Violation(
            f"forward returns {returned}, setup_context treats it as the other",
            method.at(unpacked) if unpacked else method.site,
            case.failing(),
        )


def unpacks(node: ast.AST, name: str) -> bool:
    """Whether this is `y, = name` or `name[0]`."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
        return isinstance(node.targets[0], ast.Tuple | ast.List)
    is_item = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name
    return bool(
        is_item and isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0
    )


def method_raises(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward, setup_context, backward, jvp or vmap raises an exception of its own on valid inputs.
    Why: a name that was never unpacked, a wrong attribute or a shape that does not fit shows only when the method runs.
    Do instead: mend the line that raises.
    How it is decided: by running; the line is the innermost one of the Function's own methods that the exception
    came through. Where the inputs are guessed, or forward refuses values that a trial made of them, it is a note, but
    for a name or an attribute that is not there.
    """
    for name in ("eager_fwd", "eager_bwd", *case.failing()):
        outcome = case.outcome(name)
        if (
            name not in case.failing()
            or outcome.method == ""
            or not outcome.status.failed
            or outcome.error in TORCH_SPEAKS
        ):
            continue
        if refuses_on_purpose(case, outcome.method, outcome.site.line if outcome.site else 0):
            continue
        explains = case.same_cause(name)
        slip = case.is_own_slip(outcome)
        guessed = case.source is Source.GUESSED and not slip
        moved = outcome.method == "forward" and case.ok("eager_fwd") and not slip and name not in (*FUNC, *COMPILED)
        doubt = " (for guessed inputs, which may not fit)" if guessed else " (for inputs that a trial changed)"
        yield Violation(
            f"{outcome.method} raises {outcome.detail}" + doubt * (guessed or moved),
            outcome.site,
            explains,
            Severity.INFO if guessed or moved else below_promise(case, explains),
            proven=slip,
        )
        case.explained.update(explains)


def below_promise(case: FunctionCase, trials: tuple[str, ...]) -> Severity | None:
    """Info when only trials fail that the author does not promise."""
    if case.promises_func or any(t in ("eager_fwd", "eager_bwd", "gradcheck") for t in trials):
        return None
    return Severity.INFO


def refuses_on_purpose(case: FunctionCase, method: str, line: int) -> bool:
    """Whether the line is a `raise` of the author's own."""
    found = case.method(method)
    return (
        any(isinstance(n, ast.Raise) and found is not None and found.at(n).line == line for n in found.walk())
        if found
        else False
    )
