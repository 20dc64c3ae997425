"""GS863: what torch refuses whatever the values: a module that is not one yet, a parameter that is assigned, an
optimizer without parameters, a value that is asked for too early."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.refusals import Refusal, refused
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.findings.refusals.misused_modules import OF_MODULES
from gradscope.explain.findings.refusals.misused_steps import OF_STEPS
from gradscope.functions.source import called_name, last_name
from gradscope.model.failure import Failure
from gradscope.model.site import Site


def _kept_on_the_context(case: Case, _: Failure, groups: tuple[str, ...]) -> Site | None:
    """The only line that saves as many values for a backward as the one that was refused takes."""
    at_least = int(groups[0]) + 1
    found = [
        syntax(case).site(file, node.lineno)
        for file in syntax(case).files
        for node in syntax(case).nodes(file)
        if isinstance(node, ast.Call) and called_name(node) == "save_for_backward" and len(node.args) >= at_least
    ]
    return found[0] if len(found) == 1 else None


def _of_an_instance(case: Case, _: Failure, __: tuple[str, ...]) -> Site | None:
    """The only forward of a Function that is no static method."""
    owners = [
        (file, source_lines.method(node, "forward"))
        for file in syntax(case).files
        for node in syntax(case).nodes(file)
        if isinstance(node, ast.ClassDef) and "Function" in map(last_name, node.bases)
    ]
    found = [
        syntax(case).site(file, one.lineno)
        for file, one in owners
        if one is not None and "staticmethod" not in map(last_name, one.decorator_list)
    ]
    return found[0] if len(found) == 1 else None


USES = (
    *OF_MODULES,
    *OF_STEPS,
    Refusal(
        re.compile(r"Can't call numpy\(\) on Tensor that requires grad"),
        "numpy has no graph, and this value does",
        "take value.detach().numpy() of what is only looked at",
    ),
    Refusal(
        re.compile("Boolean value of Tensor with more than one value is ambiguous"),
        "the loss is built with scores and targets as its settings, not called",
        "build it first, nn.CrossEntropyLoss()(scores, targets), or call F.cross_entropy(scores, targets)",
        functions=("legacy_get_string", "get_enum", "legacy_get_enum"),
    ),
    Refusal(
        re.compile("Boolean value of Tensor with more than one value is ambiguous"),
        "a decision is made by a tensor of several values",
        "decide by one of them: .all(), .any(), or .item() of what is reduced; torch.where() decides for each value",
    ),
    Refusal(
        re.compile("view size is not compatible with input tensor's size and stride"),
        "the values do not lie in memory in the order that view() takes them in, after a transpose or a permute",
        "take reshape() or flatten(), and look at whether the dimensions are in the order that you mean",
    ),
    Refusal(
        re.compile(r"Expected hidden(?:\[0\])? size \(?(.*?)\)?, got \[(.*?)\]"),
        "the state that is handed in is [{1}], and this batch takes [{0}]",
        "make the state for each batch, x.size(1) or x.size(0) wide, or leave the last batch out with drop_last=True",
    ),
    Refusal(
        re.compile(
            r"Expected (\dD) \(unbatched\) or (\dD) \(batched\) input to (\w+), but got input of size: \[(.*?)\]"
        ),
        "{2} takes {0} or {1}, and is given [{3}]",
        "give it a batch of samples with channels: unsqueeze(0) for a batch of one, unsqueeze(1) for one channel",
    ),
    Refusal(
        re.compile(r"Expected state_dict to be dict-like, got <class '(?:\w+\.)*(\w+)'>"),
        "what is loaded is a {0} as a whole, and no state_dict()",
        "save model.state_dict(), or take what was loaded for the model itself",
    ),
    Refusal(
        re.compile("Legacy autograd function with non-static forward method"),
        "the forward and backward of this Function are no static methods",
        "write @staticmethod and forward(ctx, x), and call it by its class: Scale.apply(x)",
        where=_of_an_instance,
    ),
    Refusal(
        re.compile(r"save_for_backward can only save variables, but argument (\d+) is of type (\w+)"),
        "a {1} is saved as if it were a tensor",
        "keep it on ctx: ctx.factor = factor",
        where=_kept_on_the_context,
    ),
    Refusal(
        re.compile("(batch_sampler|sampler) option is mutually exclusive with"),
        "the loader is given a {0} and settings that say the order as well",
        "leave shuffle out beside a sampler; beside a batch_sampler batch_size, sampler and drop_last, too",
    ),
)


def refused_use(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in a use that torch refuses.

    Why: some mistakes are refused at once, in words that assume to know what torch does inside.

    Wrong:
        class Net(nn.Module):
            def __init__(self):
                self.layers = [nn.Linear(4, 4), nn.Linear(4, 2)]

    Right:
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 2)])

    Do instead: what the finding says.

    How it is found: torch's refusal. The line is the call; the method that is not forward(), where that is missing; the
    line that keeps layers in a plain list, where the optimizer has no parameters; the one that gives a setting, that
    makes a model float16, that keeps a parent on its part.
    """
    for one in refused(case, USES):
        yield one.cause
