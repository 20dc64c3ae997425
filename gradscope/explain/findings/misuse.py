"""GS863: what torch refuses whatever the values: a module that is not one yet, a parameter that is assigned, an
optimizer without parameters, a value that is asked for too early."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.plain_containers import container_around
from gradscope.explain.deductions.refusals import Refusal, refused
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.failed_forward import operations_before
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.site import Site

_NO_FORWARD = re.compile(r'Module \[(\w+)\] is missing the required "forward" function')
_NO_PARAMETERS = re.compile("optimizer got an empty parameter list")
_NEAR = 64  # operators before an optimizer is made, which have initialised the layers

USES = (
    Refusal(
        _NO_FORWARD,
        "{0} has no forward()",
        "define forward in the class, beside __init__ and not inside of it, and spell it so",
    ),
    Refusal(
        _NO_PARAMETERS,
        "the optimizer is given no parameter",
        "keep layers in nn.ModuleList or nn.ModuleDict, parameters as nn.Parameter on the module; what parameters() "
        "and filter() give is empty once it was gone through",
    ),
    Refusal(
        re.compile(r"cannot assign (?:module|parameters?|\w+) before Module\.__init__\(\) call"),
        "this module keeps something before it is one",
        "call super().__init__() first in __init__",
    ),
    Refusal(
        re.compile(r"cannot assign '[\w.]+' (?:object )?(?:as|to) parameter '(\w+)'"),
        "{0} is a parameter, and what is assigned is a plain tensor with a graph behind it",
        "write into it under torch.no_grad(), with {0}.copy_() or {0} -= ...; or let an optimizer do it",
    ),
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
    line that keeps layers in a plain list, where the optimizer has no parameters.
    """
    for one in refused(case, USES):
        site, role = one.failure.site, "the call"
        if one.refusal.words is _NO_FORWARD:
            site = _almost_forward(case, one.groups[0]) or site
        elif one.refusal.words is _NO_PARAMETERS:
            site, role = _kept_in_a_list(case, one.failure) or site, "the optimizer"
        related = () if site == one.failure.site else (Related("fails_at", one.failure.site, role),)
        yield replace(one.cause, site=site, related=related)


def _almost_forward(case: Case, name: str) -> Site | None:
    """A function inside a method of this class that is called forward, or a method that nearly is; else the class."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.ClassDef) and node.name == name:
                inner = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef)]
                near = [one for one in inner if get_close_matches(one.name.strip("_").lower(), ["forward"], cutoff=0.8)]
                return syntax(case).site(file, near[0].lineno if near else node.lineno)
    return None


def _kept_in_a_list(case: Case, failure: Failure) -> Site | None:
    """The only line that keeps what was initialised just before in a plain list or dict of an object."""
    found = {container_around(case, one.stack) for one in operations_before(case, failure, _NEAR)} - {None}
    return found.pop() if len(found) == 1 else None
