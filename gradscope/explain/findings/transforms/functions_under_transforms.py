"""What torch.func refused at run time, under the codes that check-function has for it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import takewhile

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.transform_calls import called_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_classes import applied, declared
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.graphs.transforms import Under, transforms
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.site import Origin

Found = tuple[Failure, tuple[Under, ...]]


def combined_forward(case: Case) -> Iterable[Cause]:
    """The Function's forward takes ctx, which torch.func does not allow."""
    return _of_a_function(case, "must override the setup_context staticmethod", "forward")


def no_vmap(case: Case) -> Iterable[Cause]:
    """The Function has neither a vmap of its own nor a generated one."""
    return _of_a_function(case, "does not have vmap support")


def vmap_and_generated_vmap(case: Case) -> Iterable[Cause]:
    """The Function has a vmap of its own, and a generated one is asked for as well."""
    return _of_a_function(case, "has both generate_vmap_rule=True and an overridden vmap", "vmap")


def vmap_returns(case: Case) -> Iterable[Cause]:
    """The Function's vmap does not return the output and its dimension."""
    return _of_a_function(case, "Expected the vmap staticmethod to have two returns", "vmap")


def numpy_under_generated_vmap(case: Case) -> Iterable[Cause]:
    """A forward asks for memory that a tensor under vmap does not have, as numpy() does."""
    for failure, under in _failures(case, "Cannot access data pointer of Tensor"):
        function = case.failing_functions()[-1] if case.failing_functions() else None
        if function is not None and any(one.kind == "Vmap" for one in under):
            related = (Related("class_at", function.class_site, function.name), *called_at(under))
            yield Cause(_first(failure), failure.site, related, fails=True, function=function.name)


def no_jvp(case: Case) -> Iterable[Cause]:
    """The Function has no jvp, and forward mode needs one."""
    return _of_a_function(case, "must implement the jvp function")


def dirty_with_generated_vmap(case: Case) -> Iterable[Cause]:
    """The Function marks an input dirty and lets torch generate its vmap."""
    message = "Some elements marked as dirty during the forward"
    if any(one.kind == "Vmap" for _, under in _failures(case, message) for one in under):
        return _of_a_function(case, message, "setup_context", "mark_dirty")
    return ()


def functionalize(case: Case) -> Iterable[Cause]:
    """functionalize has no rule for custom Functions."""
    for failure, under in _failures(case, "Functionalize rule for custom_function_call"):
        call = next((one.site for one in reversed(under) if one.kind == "Functionalize"), failure.site)
        yield Cause(_first(failure), call, (Related("fails_at", failure.site),), fails=True)


def inplace_on_unbatched(case: Case) -> Iterable[Cause]:
    """A tensor without the batch dimension is written in place with one that has it."""
    for message in ("is not possible because there exists a Tensor", "doesn't match the broadcast shape"):
        for failure, under in _failures(case, message):
            if any(one.kind == "Vmap" for one in under):
                yield Cause(_first(failure), failure.site, called_at(under, "Vmap"), fails=True)


def random_under_vmap(case: Case) -> Iterable[Cause]:
    """A random operator under a vmap that was not told what to do with it."""
    for failure, under in _failures(case, "called random operation while in randomness error mode"):
        advice = 'give vmap randomness="different" (or "same"), or draw the numbers outside and pass them in'
        site, called = failure.site, called_at(under, "Vmap")
        made = list(syntax(case).everywhere(_is_vmap)) if _is_of_a_layer(failure) else []
        if len(made) == 1:  # a layer draws: what can be edited is what vmap is told
            site, called = made[0], (*called, Related("fails_at", failure.site))
        yield Cause(_first(failure), site, called, fails=True, advice=advice)


def _is_of_a_layer(failure: Failure) -> bool:
    """Whether torch's own layers, dropout say, ran what failed."""
    inner = takewhile(lambda site: site.origin is not Origin.USER, failure.stack)
    return any("/torch/nn/" in site.file.replace("\\", "/") for site in inner)


def _is_vmap(node: ast.AST) -> bool:
    """`torch.vmap(...)` that is not told what to do with random numbers."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "vmap":
        return False
    return all(one.arg != "randomness" for one in node.keywords)


def _failures(case: Case, message: str) -> Iterator[Found]:
    for failure in case.failures():
        if message in failure.message:
            yield failure, transforms(failure.stack)


def _of_a_function(case: Case, message: str, method: str | None = None, call: str | None = None) -> Iterable[Cause]:
    """The line to edit is in the Function; where its source was not recorded, the call is the next best."""
    for failure, under in _failures(case, message):
        name = applied(failure.stack) or _failing(case)
        place = declared(case, name, method, call) if name is not None else None
        related = (Related("fails_at", failure.site, name or ""), *called_at(under))
        yield Cause(_first(failure), place or failure.site, related, fails=True, function=name)


def _failing(case: Case) -> str | None:
    """The Function out of whose apply the last exception came: a call under another name does not tell."""
    return case.failing_functions()[-1].bare_name if case.failing_functions() else None


def _first(failure: Failure) -> str:
    """The first sentence of what torch says."""
    sentence = failure.message.partition(". ")[0].splitlines()[0]
    return sentence.rstrip(".")
