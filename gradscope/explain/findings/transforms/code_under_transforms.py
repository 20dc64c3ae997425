"""GS774, GS775: what torch.func's transforms cannot do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.settings import calls_at
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.mutation import Declaration
from gradscope.model.site import Site

SHARED = "writes a value per sample into a tensor that all samples share"
BRANCHES = {
    "data-dependent control flow": "asks for a tensor's value (in an if, or with item()), and under vmap it has many",
    "operators that can support dynamic shape": "gives each sample a result of another size, which vmap cannot stack",
    "vmap: It looks like you're calling .item()": "calls item() on a tensor, and under vmap it has many values",
}
_MAKES = ("zeros", "ones", "empty", "full", "eye", "rand", "randn", "tensor", "new_zeros", "new_ones", "new_empty")
MUTATIONS = {
    "that would mutate a captured Tensor": "writes in place into a tensor from outside the transformed function",
    "being vmapped over but `self` not being vmapped over": SHARED,
    "running_mean or running_var, which will be updated in place, were not batched": (
        "updates running statistics that all samples share"
    ),
    "vmap: inplace arithmetic(self": SHARED,
}


def branch_under_vmap(case: Case) -> Iterator[Cause]:
    """What it flags: a function under vmap branches on a tensor's value, or makes a result whose size depends on it.

    Why: vmap runs the function once for all samples. A tensor stands for many values there, so no `if`, float() or
    item() can have one answer, and a boolean index has another size for each sample.

    Wrong:
        def huber(error):
            return 0.5 * error**2 if error.abs() < 1 else error.abs() - 0.5

    Right:
        def huber(error):
            return torch.where(error.abs() < 1, 0.5 * error**2, error.abs() - 0.5)

    Do instead: compute both sides and choose with torch.where; keep scalars as tensors; multiply by a mask instead of
    indexing with it.

    How it is found: the exception of vmap that ended the run, and your innermost line in its stack.
    """
    yield from _named(case, BRANCHES)


def mutation_under_transform(case: Case) -> Iterator[Cause]:
    """What it flags: a function under grad or vmap writes in place into a buffer or another tensor from outside.

    Why: transforms work on functions without side effects. A buffer that the function captures, such as the running
    mean of a BatchNorm, belongs to no sample and to no level of the transform, so what is written into it has no
    meaning.

    Wrong:
        self.mean.lerp_(out.mean(0), 0.1)

    Right:
        mean = self.mean.lerp(out.mean(0), 0.1)     # return it, and keep it outside

    Do instead: return the new value and store it outside the transformed function; for BatchNorm use
    torch.func.replace_all_batch_norm_modules_, track_running_stats=False, GroupNorm, or eval().

    How it is found: the exception that ended the run, and your innermost line in its stack; where a module of torch
    writes, such as BatchNorm, the line that built it.
    """
    yield from _named(case, MUTATIONS)


def _named(case: Case, texts: dict[str, str]) -> Iterator[Cause]:
    for failure in case.failures():
        for text, meaning in texts.items():
            if text in failure.message and failure.site is not None:
                built = _built_at(case, failure)
                made = _made_at(case, failure.site) if built is None else None
                if built is not None:
                    calls: tuple[Related, ...] = (Related("called_at", failure.site, "its call under the transform"),)
                    message = f"the {built.module_class} that is built here {meaning}"
                elif made is not None:
                    calls = (Related("modified_at", failure.site, "the write"),)
                    message = "this makes one tensor for all samples, into which a value per sample is written"
                else:
                    calls, message = (), f"this line {meaning}"
                site = built.site if built is not None else made or failure.site
                yield Cause(message, site, calls, fails=True, module=_module(failure))
                break


def _built_at(case: Case, failure: Failure) -> Declaration | None:
    """Where the torch module was built whose forward raised; None where several lines built one of its class, and the
    line that failed calls none, or several, by the names that they have."""
    module = _module(failure)
    if module is None or failure.site is None:
        return None
    built = [one for one in case.declarations() if one.module_class.lower().startswith(module)]
    if len({one.site for one in built}) > 1:
        called = {called_name(call) for call in calls_at(case, failure.site)}
        built = [one for one in built if one.path.rpartition(".")[2] in called]
    return built[0] if len({one.site for one in built}) == 1 else None


def _made_at(case: Case, write: Site) -> Site | None:
    """The line of the same function that makes, without the samples, the tensor that a line writes into."""
    name, function = source_lines.edited(case, write), syntax(case).function(write)
    made = (
        [
            one.lineno
            for one in ast.walk(function)
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and called_name(one.value) in _MAKES
            if any(isinstance(target, ast.Name) and target.id == name for target in one.targets)
        ]
        if function is not None and name is not None
        else []
    )
    return syntax(case).site(write.file, made[0]) if len(made) == 1 and made[0] < write.line else None


def _module(failure: Failure) -> str | None:
    """The torch module whose forward raised, where a user's line called one."""
    for site in failure.stack:
        if site.origin.value == "user":
            return None
        if site.function == "forward" and "/nn/modules/" in site.file:
            return site.file.rpartition("/")[2].removesuffix(".py")
    return None
