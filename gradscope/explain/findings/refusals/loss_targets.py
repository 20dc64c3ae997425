"""GS862: a loss and a target that do not fit each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.refusals import Refusal, refused
from gradscope.explain.deductions.lines.sample_parts import target_line
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.failed_forward import operations_before
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.failure import Failure
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_NEAR = 12  # operators before the loss in which its scores were reshaped
_RESHAPES = ("view", "_unsafe_view", "reshape")


def _reshaped(case: Case, failure: Failure, groups: tuple[str, ...]) -> Site | None:
    """The last line that reshaped by itself just before, where there are several rows for a target, or the reverse;
    else the dataset's line that cuts the targets."""
    fewer, more = sorted(map(int, groups))
    if not fewer or more % fewer:
        made = target_line(case, failure.stack)
        statement = None if made is None else syntax(case).statement(made)
        cuts = statement is not None and any(isinstance(node, ast.Slice) for node in ast.walk(statement))
        return made if cuts else None
    before = operations_before(case, failure, _NEAR)
    own = [operation for operation in before if operation.stack and operation.stack[0].origin is Origin.USER]
    reshapes = [operation.site for operation in own if base_name(operation.name) in _RESHAPES]
    return reshapes[-1] if reshapes else None


TARGETS = (
    Refusal(
        re.compile(r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)"),
        "there are {0} rows of scores and {1} targets",
        "keep the batch: x.view(x.size(0), -1) or x.flatten(1) lets the layer say what does not fit; of sequences "
        "flatten scores and targets, view(-1, classes) and view(-1)",
        where=_reshaped,
        role="the loss",
    ),
    Refusal(
        re.compile(r"expected (?:target dtype to be|scalar type) Long(?: or Byte)?,? but (?:got|found) (\w+)"),
        "the targets are {0}, where this loss takes the number of a class",
        "give it integers: target.long(), in the shape (batch,)",
        functions=("cross_entropy", "nll_loss"),
    ),
    Refusal(
        re.compile(r"result type Float can't be cast to the desired output type (\w+)"),
        "the targets are {0}, where this loss takes floating point",
        "give it target.float()",
        functions=("binary_cross_entropy_with_logits", "binary_cross_entropy"),
    ),
    Refusal(
        re.compile(r"Found dtype (\w+) but expected Float"),
        "the targets are {0}, where this loss takes what the scores are",
        "give it target.float()",
        functions=("binary_cross_entropy_with_logits", "binary_cross_entropy"),
    ),
    Refusal(
        re.compile(
            r"Using a target size \(torch\.Size\((.*?)\)\) that is different to the input size \(torch\.Size\((.*?)\)\)"
        ),
        "the target is {0} and what it is compared with {1}",
        "give both one shape: output.squeeze(1), or target.unsqueeze(1)",
        functions=("binary_cross_entropy",),
    ),
    Refusal(
        re.compile(r"Target size \(torch\.Size\((.*?)\)\) must be the same as input size \(torch\.Size\((.*?)\)\)"),
        "the target is {0} and what it is compared with {1}",
        "give both one shape: output.squeeze(1), or target.unsqueeze(1)",
        functions=("binary_cross_entropy_with_logits",),
    ),
    Refusal(
        re.compile("all elements of input should be between 0 and 1"),
        "this loss takes probabilities, and is given what is below 0, above 1, or NaN",
        "compute it of the scores, without a sigmoid, by BCEWithLogitsLoss; or give it the sigmoid of the scores",
        modules=("BCELoss",),
    ),
    Refusal(
        re.compile(r"only batches of spatial targets supported .* but got targets of (?:dimension: (\d+)|size: (.*))"),
        "the targets have {0}{1} dimensions, where this loss takes (batch, height, width)",
        "take the dimension of the channel away: target.squeeze(1)",
        functions=("cross_entropy", "nll_loss"),
    ),
    Refusal(
        re.compile("0D or 1D target tensor expected, multi-target not supported"),
        "the targets have two dimensions, where this loss takes the number of a class for each row",
        "give it target.squeeze(1) of (batch, 1), and target.argmax(1) of what is one-hot",
        functions=("cross_entropy", "nll_loss"),
    ),
    Refusal(
        re.compile(r"Expected floating point type for target with class probabilities, got (\w+)"),
        "the targets are {0} in the shape of the scores, which this loss takes for probabilities",
        "give it the number of a class for each row, target.argmax(1), or target.float()",
        functions=("cross_entropy",),
    ),
    Refusal(
        re.compile(r"Expected target size \[(.*?)\], got \[(.*?)\]"),
        "the targets are [{1}], and by the scores' shape they should be [{0}]",
        "the classes are the second dimension of the scores: scores.transpose(1, 2), or flatten both",
        functions=("cross_entropy", "nll_loss"),
    ),
    Refusal(
        re.compile(r"weight tensor should be defined either for all (\d+) classes or no classes but .*?\[(\d+)\]"),
        "this loss has weights for {1} classes, and {0} are scored",
        "give it a weight for each class",
        modules=("CrossEntropyLoss", "NLLLoss"),
        functions=("cross_entropy", "nll_loss"),
    ),
    Refusal(
        re.compile("grad can be implicitly created only for scalar outputs"),
        "this is not a loss yet: it has a value for each sample",
        'call backward() of its mean() or sum(); a loss with reduction="none" leaves that to you',
    ),
)


def target_does_not_fit(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in a loss, for its target has another shape, dtype or meaning than it takes.

    Why: cross_entropy takes the number of a class for each row, as integers, and scores whose second dimension is the
    classes; binary_cross_entropy takes floating point in the shape of the scores; BCELoss takes probabilities.

    Wrong:
        x = x.view(-1, 8 * 7 * 7)                   # of (4, 8, 14, 14): sixteen rows for four targets
        loss = F.cross_entropy(self.fc(x), target)

    Right:
        x = x.flatten(1)
        loss = F.cross_entropy(self.fc(x), target)

    Do instead: give the loss what it takes.

    How it is found: torch's refusal. The line is the call; or the last reshape before it that changed how many rows
    there are; or the one that built the loss.
    """
    for one in refused(case, TARGETS):
        yield one.cause
