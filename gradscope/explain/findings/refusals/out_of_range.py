"""GS818: a label without a class, an index without a row, a step behind the last of a schedule, told by the line that
sets the bounds; an empty sequence, and a number that float16 cannot hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.refusals import Refusal, refused
from gradscope.explain.deductions.lines.sample_parts import target_line
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.failure import Failure
from gradscope.model.site import Site

_UNLABELLED = "255"  # of a picture's pixels, where no class has that number
_FILLS = ("full", "full_like", "new_full", "fill_", "masked_fill", "masked_fill_", "pad", "pad_sequence")


def _labels(case: Case, failure: Failure, found: tuple[str, ...]) -> Site | None:
    """The dataset's line that makes the labels, unless this one is to be left out, and the loss is to be told so."""
    if found[0] == _UNLABELLED or any(
        _fills(node, int(found[0])) for file in syntax(case).files for node in syntax(case).nodes(file)
    ):
        return None
    return target_line(case, failure.stack)


def _fills(node: ast.AST, number: int) -> bool:
    """Whether a number is written or padded in, as a mark is."""
    if isinstance(node, ast.Call) and called_name(node) in _FILLS:
        return any(_is(one, number) for one in (*node.args, *(keyed.value for keyed in node.keywords)))
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return _is(node.value, number)
    return isinstance(node, ast.keyword) and (node.arg or "").endswith("_value") and _is(node.value, number)


def _is(value: ast.expr, number: int) -> bool:
    return ast.unparse(value) == str(number)


BOUNDS = (
    Refusal(
        re.compile(r"Target (-?\d+) is out of bounds"),
        "a label is {}, for which the loss has no class",
        "give the loss ignore_index={} where that marks what has no label; else let the labels begin at 0, and give "
        "the last layer an output for each class",
        modules=("CrossEntropyLoss", "NLLLoss"),
        functions=("nll_loss", "cross_entropy"),
        where=_labels,
        role="the loss",
    ),
    Refusal(
        re.compile("index out of range in self"),
        "an index is not below the number of rows of this embedding, or is negative",
        "make it as large as the vocabulary with all special tokens, resize it where tokens are added, and look for an "
        "id that marks padding",
        modules=("Embedding", "EmbeddingBag"),
        functions=("embedding", "embedding_bag"),
    ),
    Refusal(
        re.compile(r"Tried to step (\d+) times\. The specified number of total steps is (\d+)"),
        "this schedule was stepped {} times, and has {} steps",
        "count its steps as the loop makes them: epochs * len(loader), with the last batch, or one for each epoch",
        modules=("OneCycleLR",),
        functions=("get_lr", "step"),
    ),
    Refusal(
        re.compile("Length of all samples has to be greater than 0"),
        "a sequence of this batch is empty",
        "leave out samples in which nothing is left after cleaning and cutting, or give them one token that stands for "
        "nothing; or clamp the lengths to at least 1",
        functions=("pack_padded_sequence",),
    ),
    Refusal(
        re.compile(r"value cannot be converted to type (?:c10|at)::Half without overflow"),
        "a number of this line is too large for float16, which a value of it has, under autocast perhaps",
        "take torch.finfo(values.dtype).min (or -inf) for what is masked, or compute this line in float32",
    ),
)


def out_of_range(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in a loss whose label is no class, in an embedding that has no such row, in a
    schedule that has no more steps, in an empty sequence, or in a number that float16 cannot hold.

    Why: labels count from 0 to one less than there are scores, ids from 0 to one less than there are rows. A label that
    marks what is to be left out (255, -1) must be named to the loss; tokens that are added need rows; ids that are
    shifted by one fit until the last one comes. The largest number in float16 is 65,504: -1e9 for what is masked fits
    only as long as the scores are in float32.

    Wrong:
        loss_of = nn.CrossEntropyLoss()                   # of labels in which 255 stands for "no label"

    Right:
        loss_of = nn.CrossEntropyLoss(ignore_index=255)

    Do instead: name the label that does not count, or let labels and ids lie in their range.

    How it is found: torch's refusal. The line is the one of the program's only dataset that makes the labels, where no
    mark is written among them; or the one that built the only module of this kind under the name that is called, else
    the call.
    """
    for one in refused(case, BOUNDS):
        yield one.cause
