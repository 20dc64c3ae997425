"""GS101-GS107, GS110, GS111, GS116, GS118, GS119, GS122: what the class must look like before anything can run."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Iterator

from gradscope.functions.rules.case import COMPILED, VMAPS, FunctionCase
from gradscope.functions.rules.fault import Violation
from gradscope.functions.source import called_name
from gradscope.functions.subject import METHODS, module_tree
from gradscope.model.finding import Severity

KNOWN = (
    *METHODS,
    "generate_vmap_rule",
    "clear_saved_tensors_on_access",
    "boxed_grads_call",
    "custom_gradient",
    "gradscope_inputs",
)
CONTEXT_NAMES = (("ctx",), ("context",), ("_ctx",))
USUAL_SLIPS = (
    "backwards",
    "setup_ctx",
    "generate_vmap_rules",
    "vmap_rule",
    "jvps",
    "forwards",
    "set_context",
    "setup_contexts",
    "once_differentiable",
)


def not_a_function_class(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a dotted name that leads to something other than a subclass of torch.autograd.Function.
    Why: there is nothing here that autograd would call; a plain function or a Module has no backward of its own.
    Do instead: name the class itself, for example pkg.mod.MyFn, not MyFn.apply and not a function that calls it.
    How it is decided: by looking the name up; nothing is run.
    """
    if case.subject.function is None:
        kind = type(case.subject.candidate).__name__
        yield Violation(
            f"{case.subject.name} is a {kind}, not a subclass of torch.autograd.Function", case.subject.site
        )


def missing_forward(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a Function without a forward.
    Why: apply raises NotImplementedError: "You must implement the forward function".
    Do instead: write a static method forward that takes the inputs and returns the outputs.
    How it is decided: from the class's attributes.
    """
    if case.subject.function is not None and not case.subject.has("forward"):
        yield Violation(f"{case.subject.short_name} has no forward", case.subject.site, case.failing())


def legacy_instance_methods(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: methods that take self, or an __init__, as Functions had before torch 0.4.
    Why: Functions are never instantiated: calling an instance raises, and apply passes ctx in the place of self.
    Do instead: make forward and backward static methods and pass values as arguments of forward.
    How it is decided: from the methods' first parameter and the class's attributes. Where a run shows that all is right
    with ctx in the place of self, it is a note.
    """
    owner = case.subject.function
    if owner is None:
        return
    selfish = next((m for m in case.subject.methods.values() if m.kind == "function" and m.context == "self"), None)
    own_init = "__init__" in vars(owner)
    if selfish or own_init:
        what = f"{selfish.name} takes self" if selfish else "the class defines __init__"
        works = case.ok("eager_fwd") and case.ok("eager_bwd")
        yield Violation(
            f"{what}, but torch never makes an instance of a Function" + "; apply works" * works,
            selfish.site if selfish else case.subject.site,
            case.failing() if selfish and not works else (),
            Severity.INFO if works else None,
        )


def missing_staticmethod(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward, backward or another method without @staticmethod.
    Why: a plain def works because torch calls it on the class; a classmethod breaks torch.compile and compiled
    autograd.
    Do instead: put @staticmethod above the method.
    How it is decided: from how the class stores the method. A classmethod is a warning where --level compile is
    promised; else, as a plain def, a note.
    """
    methods = case.subject.methods.values()
    plain = [method for method in methods if method.kind == "function" and method.context != "self"]
    bound = [method for method in methods if method.kind == "classmethod"]
    if bound:
        what = " and ".join(method.name for method in bound)
        severity = Severity.WARNING if case.level == "compile" else Severity.INFO
        yield Violation(f"torch.compile refuses classmethods: {what}", bound[0].site, case.failing(*COMPILED), severity)
    if plain:
        what = " and ".join(method.name for method in plain)
        yield Violation(f"no staticmethod, which works as it is: {what}", plain[0].site)


def no_backward(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a Function whose outputs require grad but that has no backward (perhaps a misspelt one).
    Why: apply works; NotImplementedError comes only when a backward pass reaches the Function.
    Do instead: write backward, or mark every output with ctx.mark_non_differentiable.
    How it is decided: from the class's attributes. When a run shows that no output requires grad, it is no fault.
    """
    subject = case.subject
    if subject.function is None or not subject.has("forward") or subject.has("backward") or subject.has("vjp"):
        return
    floating = [i for i, kind in enumerate(case.anatomy.outputs) if kind in ("float", "view", "input")]
    if case.anatomy.outputs and all(i in case.anatomy.nondifferentiable for i in floating):
        return
    own = (name for name in vars(subject.function) if not name.startswith("_"))  # torch itself adds _backward_cls
    slip = next((name for name in own if difflib.SequenceMatcher(None, name, "backward").ratio() > 0.75), "")
    message = f"{subject.short_name} has no backward" + (f"; {slip} looks like a misspelt one" if slip else "")
    yield Violation(
        message,
        subject.site,
        case.raising("implement either the backward or vjp", "derivative for") or case.failing("eager_bwd"),
    )


def backward_and_vjp(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a class that overrides both backward and vjp.
    Why: eager backward raises "Implementing both 'backward' and 'vjp'"; torch.func uses backward.
    Do instead: keep backward, delete vjp.
    How it is decided: from the class's attributes.
    """
    if case.subject.has("backward") and case.subject.has("vjp"):
        yield Violation(
            "backward and vjp are both defined", case.site("vjp"), case.raising("both 'backward' and 'vjp'")
        )


def vjp_only(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: a class that overrides vjp instead of backward.
    Why: eager mode takes it, but every reverse transform of torch.func and torch.compile look for backward and raise.
    Do instead: rename vjp to backward.
    How it is decided: from the class's attributes.
    """
    if case.subject.has("vjp") and not case.subject.has("backward"):
        explains = case.raising("implement either the backward or vjp", "backward") or case.failing(
            "grad", "vjp", "jacrev", *COMPILED
        )
        yield Violation("vjp is defined and backward is not", case.site("vjp"), explains)


def combined_forward(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward takes ctx, so that computing and saving are one method.
    Why: eager mode takes it; every transform of torch.func raises "it must override the setup_context staticmethod".
    Do instead: let forward take the inputs alone, and move what uses ctx to setup_context(ctx, inputs, output).
    How it is decided: setup_context is not overridden. It is an error where --level func asks for transforms, a warning
    where the class declares them (by vmap, generate_vmap_rule or jvp), else a note.
    """
    subject = case.subject
    if subject.function is not None and subject.has("forward") and not subject.separate_context:
        asked = Severity.ERROR if case.asked else Severity.WARNING
        yield Violation(
            "forward takes ctx: no torch.func transform accepts this",
            case.site("forward"),
            case.raising("must override the setup_context", "implement the jvp function"),
            asked if case.promises_func else Severity.INFO,
        )


def ctx_and_setup_context(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: forward still takes ctx although setup_context is defined.
    Why: with setup_context, forward gets the inputs alone: apply raises TypeError for a missing argument.
    Do instead: drop ctx from forward's parameters.
    How it is decided: from the name of forward's first parameter, confirmed by apply's TypeError.
    """
    forward = case.method("forward")
    if forward and case.subject.separate_context and forward.names[:1] in CONTEXT_NAMES:
        yield Violation("forward takes ctx although setup_context is defined", forward.site, case.failing())


def kw_only_forward(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: keyword-only parameters in forward together with setup_context.
    Why: apply hands forward positional arguments only, so a keyword-only parameter without default can never be given.
    Do instead: make the parameters positional.
    How it is decided: from forward's signature.
    """
    forward = case.method("forward")
    names = [p.name for p in forward.parameters if p.kind is inspect.Parameter.KEYWORD_ONLY] if forward else []
    if names and forward and case.subject.separate_context:
        yield Violation(
            f"forward's parameter {names[0]} is keyword-only: apply cannot pass it", forward.site, case.failing()
        )


def direct_forward_call(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: MyFn.forward(...) called directly somewhere in the module.
    Why: only apply builds a graph; a direct call computes the values and silently cuts the gradient, or
    differentiates forward's own operators.
    Do instead: call MyFn.apply(...).
    How it is decided: from the source of the module that defines the class; a call that hands on ctx is delegation
    and fine.
    """
    site = case.subject.site
    tree = module_tree(site.file) if site else None
    for node in ast.walk(tree) if tree else ():
        if not (isinstance(node, ast.Call) and called_name(node) == "forward" and isinstance(node.func, ast.Attribute)):
            continue
        delegates = node.args and isinstance(node.args[0], ast.Name) and node.args[0].id in ("ctx", "context", "_ctx")
        if (
            isinstance(node.func.value, ast.Name)
            and node.func.value.id == case.subject.short_name
            and not delegates
            and site
        ):
            yield Violation(
                f"{case.subject.short_name}.forward is called directly: no graph is built",
                type(site)(site.file, node.lineno),
            )
            return


def unknown_member(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: an attribute whose name is nearly that of one torch looks for: backwards, setup_ctx,
    generate_vmap_rules.
    Why: torch ignores names it does not know, so the method is never called and the flag never read.
    Do instead: correct the spelling.
    How it is decided: from the names in the class body.
    """
    owner = case.subject.function
    for name in vars(owner) if owner is not None else ():
        if name in KNOWN or name.startswith("_") or hasattr(dict, name):
            continue
        near = difflib.get_close_matches(name, KNOWN, 1, 0.8)
        if name in USUAL_SLIPS or near:
            meant = near[0] if near else difflib.get_close_matches(name, KNOWN, 1, 0.0)[0]
            yield Violation(f"{name} means nothing to torch; {meant} was probably meant", case.subject.site)


def boxed_grads_call(case: FunctionCase) -> Iterator[Violation]:
    """What it flags: boxed_grads_call = True together with setup_context.
    Why: backward then gets one list of gradients; eager mode does that, torch.func and compiled autograd pass them
    one by one and raise.
    Do instead: leave boxed_grads_call out of Functions that shall be transformed.
    How it is decided: from the class's attributes.
    """
    if getattr(case.subject.function, "boxed_grads_call", False) and case.subject.separate_context:
        trials = case.failing(
            "grad",
            "vjp",
            "jacrev",
            "hessian",
            "jvp_grad",
            "grad_grad",
            "functional_call",
            *VMAPS,
            "compiled_autograd",
            "compile",
        )
        yield Violation("boxed_grads_call is combined with setup_context", case.subject.site, trials)
