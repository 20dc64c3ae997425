"""GS601-GS605: what the compilers make of a Function."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.functions.rules.backward import through_numpy
from gradscope.functions.rules.case import COMPILED, FunctionCase
from gradscope.functions.rules.fault import Violation


def jvp_stops_fullgraph(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a jvp method on a Function that shall be compiled.
    Why: Dynamo raises "Unsupported custom jvp" with fullgraph=True, and breaks the graph without it.
    Do instead: nothing, or a twin without jvp for compiled code.
    How it is decided: by compiling with fullgraph=True.
    """
    explains = case.raising("custom jvp", trials=COMPILED)
    if explains:
        yield Violation("torch.compile stops at a Function with jvp", case.site("jvp"), explains)


def defaults_omitted(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward has defaults, and apply is called without those arguments under torch.compile.
    Why: eager mode fills the defaults in when setup_context exists; Dynamo counts the gradients against the
    arguments that were passed.
    Do instead: pass all arguments to apply.
    How it is decided: forward's signature has more parameters than the inputs, and compiling raises.
    """
    forward = case.method("forward")
    explains = case.failing("compile", "export")
    given = len(case.anatomy.input_shapes)
    parameters = len(forward.names) - (0 if case.subject.separate_context else 1) if forward else 0
    if explains and parameters > given:
        yield Violation(
            f"forward has {parameters} parameters, {given} are passed: torch.compile does not fill in the defaults",
            case.site("forward"),
            explains,
        )


def compile_unsupported(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: torch.compile or compiled autograd cannot take the Function, or computes something else.
    Why: control flow on values, .backward() inside backward and side effects cannot be traced.
    Do instead: remove them, or wrap the call in torch.compiler.disable.
    How it is decided: by compiling with fullgraph=True and by a backward under compiled autograd.
    """
    explains = case.failing("compile", "compiled_autograd")
    if explains:
        yield Violation(
            f"{explains[0]}: {case.outcome(explains[0]).detail}",
            case.raised_at(explains, "forward"),
            (
                *explains,
                *case.same_cause(explains[0]),
                *case.raising("ata-dependent", "GuardOnDataDependent", trials=COMPILED),
            ),
        )


def numpy_in_forward(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward computes with numpy under make_fx or export.
    Why: the tracer does not see numpy: the result is baked in as a constant, silently, or the trace raises.
    Do instead: use torch operators, or register a torch.library.custom_op.
    How it is decided: the trace is run with other inputs and compared with eager.
    """
    explains = case.failing("make_fx", "export")
    if explains and (case.fact("make_fx", "baked") or through_numpy(case.method("forward"))):
        yield Violation(
            "a trace holds the values of the first inputs as constants",
            case.at("forward", through_numpy(case.method("forward"))),
            explains,
        )


def custom_backward_lost(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: make_fx and export trace forward's operators and drop the custom backward.
    Why: the exported program has the operators' own gradient: another one when the custom backward differs on
    purpose, none when forward detaches.
    Do instead: train before exporting, or register a torch.library.custom_op with register_autograd.
    How it is decided: the gradient through the trace is compared with the Function's.
    """
    explains = tuple(n for n in case.failing("make_fx", "export") if case.fact(n, "gradient_lost"))
    if explains:
        yield Violation("a trace loses the custom backward", case.site("backward"), explains)
