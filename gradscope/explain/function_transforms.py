"""Custom Functions that torch.func cannot run: GS764 and GS765."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain import code
from gradscope.explain.case import Case
from gradscope.explain.kind import Cause
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.graph import FunctionClass

DIRTY_NOT_RETURNED = "Some elements marked as dirty during the forward method were not returned as output"
_NO_SETUP = "it must override the setup_context staticmethod"


def no_setup_context(case: Case) -> Iterator[Cause]:
    """A Function without setup_context under torch.func.

    What it flags: a custom Function was run under a transform of torch.func (grad, vmap, jacrev, ...), or has a forward
        without ctx, and has no setup_context.
    Why: a transform runs the forward apart from what is saved for the backward. A forward that takes ctx mixes both,
        so torch refuses it there; and one that takes none leaves nobody to save.
    Wrong:
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3
    Right:
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x**3
            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)
    Do instead: take ctx out of forward's arguments, and move what uses it into `setup_context(ctx, inputs, output)`.
    How it is found: torch's own error; the Function is the one whose apply it came out of. `gradscope check-function`
        finds it before a run does.
    """
    for failure, function in failing(case):
        owner = code.class_at(case, function.class_site)
        forward = code.method(owner, "forward")
        without_ctx = failure.kind == "TypeError" and ".forward() takes" in failure.message
        has_none = owner is None or code.method(owner, "setup_context") is None
        if has_none and (_NO_SETUP in failure.message or without_ctx):
            site = function.class_site
            if forward is not None and site is not None:
                site = code.line(case, site.file, forward.lineno, "forward")
            why = "its forward takes no ctx" if without_ctx else "torch.func runs it"
            yield Cause(
                f"{_name(function)} has no setup_context, and {why}",
                site,
                (Related("class_at", function.class_site, function.name), Related("fails_at", failure.site)),
                fails=True,
                function=function.name,
            )


def dirty_under_vmap(case: Case) -> Iterator[Cause]:
    """mark_dirty with a generated vmap rule.

    What it flags: a custom Function with `generate_vmap_rule = True` edits an input in place, says so with mark_dirty,
        and was run under vmap.
    Why: the generated rule runs the Function on inputs that it unwraps and wraps anew: what it returns is then not the
        object that was marked, and torch refuses.
    Wrong:
        class Double(torch.autograd.Function):
            generate_vmap_rule = True
            @staticmethod
            def forward(x): return x.mul_(2)
            @staticmethod
            def setup_context(ctx, inputs, output): ctx.mark_dirty(inputs[0])
    Right:
        class Double(torch.autograd.Function):
            generate_vmap_rule = True
            @staticmethod
            def forward(x): return x * 2
            @staticmethod
            def setup_context(ctx, inputs, output): pass
    Do instead: make a new tensor in the forward; or write the `vmap` staticmethod by hand.
    How it is found: torch's own error; the Function is the one whose apply it came out of, and its recorded source
        says whether the rule is generated.
    """
    for failure, function in failing(case):
        owner = code.class_at(case, function.class_site)
        rule = None if owner is None else _rule(owner)
        if DIRTY_NOT_RETURNED in failure.message and rule is not None and function.class_site is not None:
            yield Cause(
                f"{_name(function)} marks an input as dirty, which the vmap rule that torch generates cannot follow",
                code.line(case, function.class_site.file, rule.lineno, _name(function)),
                (Related("class_at", function.class_site, function.name), Related("fails_at", failure.site)),
                fails=True,
                function=function.name,
            )


def generates_vmap(owner: ast.ClassDef) -> bool:
    """Whether a Function leaves its vmap rule to torch."""
    return _rule(owner) is not None


def _rule(owner: ast.ClassDef) -> ast.Assign | None:
    for node in owner.body:
        if isinstance(node, ast.Assign) and any(ast.unparse(one) == "generate_vmap_rule" for one in node.targets):
            return node
    return None


def failing(case: Case) -> Iterator[tuple[Failure, FunctionClass]]:
    """The exceptions that came out of a Function's apply, each with the Function."""
    for failure in case.failures:
        for function in case.failing_functions[-1:]:
            yield failure, function


def _name(function: FunctionClass) -> str:
    return function.name.rpartition(".")[2]
