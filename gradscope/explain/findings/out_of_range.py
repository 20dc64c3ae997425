"""GS818: a label without a class, an index without a row, a step behind the last of a schedule, told by the line that
sets the bounds; and a number that float16 cannot hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.site import Origin, Site


@dataclass(frozen=True, slots=True)
class _Bound:
    """A refusal of torch's: its words, the functions that raise it (none: any operator), the classes whose settings are
    to blame, what to say and do."""

    words: re.Pattern[str]
    functions: tuple[str, ...]
    modules: tuple[str, ...]
    told: str
    advice: str


_BOUNDS = (
    _Bound(
        re.compile(r"Target (-?\d+) is out of bounds"),
        ("nll_loss", "cross_entropy"),
        ("CrossEntropyLoss", "NLLLoss"),
        "a label is {}, for which the loss has no class",
        "give the loss ignore_index={} where that marks what has no label; else let the labels begin at 0, and give "
        "the last layer an output for each class",
    ),
    _Bound(
        re.compile("index out of range in self"),
        ("embedding", "embedding_bag"),
        ("Embedding", "EmbeddingBag"),
        "an index is not below the number of rows of this embedding, or is negative",
        "make it as large as the vocabulary with all special tokens, resize it where tokens are added, and look for an "
        "id that marks padding",
    ),
    _Bound(
        re.compile(r"Tried to step (\d+) times\. The specified number of total steps is (\d+)"),
        ("get_lr", "step"),
        ("OneCycleLR",),
        "this schedule was stepped {} times, and has {} steps",
        "count its steps as the loop makes them: epochs * len(loader), with the last batch, or one for each epoch",
    ),
    _Bound(
        re.compile(r"value cannot be converted to type (?:c10|at)::Half without overflow"),
        (),
        (),
        "a number of this line is too large for float16, which a value of it has, under autocast perhaps",
        "take torch.finfo(values.dtype).min (or -inf) for what is masked, or compute this line in float32",
    ),
)


def out_of_range(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in a loss whose label is no class, in an embedding that has no such row, in a
    schedule that has no more steps, or in a number that float16 cannot hold.

    Why: labels count from 0 to one less than there are scores, ids from 0 to one less than there are rows. A label that
    marks what is to be left out (255, -1) must be named to the loss; tokens that are added need rows; ids that are
    shifted by one fit until the last one comes. The largest number in float16 is 65,504: -1e9 for what is masked fits
    only as long as the scores are in float32.

    Wrong:
        loss_of = nn.CrossEntropyLoss()                   # of labels in which 255 stands for "no label"

    Right:
        loss_of = nn.CrossEntropyLoss(ignore_index=255)

    Do instead: name the label that does not count, or let labels and ids lie in their range.

    How it is found: torch's refusal. The line is the one that built the only module of this kind under the name that is
    called, else the call.
    """
    for failure in case.failures():
        inner = {site.function for site in failure.stack[:2] if site.origin is Origin.TORCH}
        for bound in _BOUNDS:
            found = bound.words.search(failure.message)
            if found is not None and (not bound.functions or inner & {*bound.functions}):
                built = _built_at(case, failure, bound)
                yield Cause(
                    bound.told.format(*found.groups()),
                    built or failure.site,
                    () if built in (None, failure.site) else (Related("fails_at", failure.site, "the call"),),
                    fails=True,
                    certain=False,
                    advice=bound.advice.format(*found.groups()),
                )


def _built_at(case: Case, failure: Failure, bound: _Bound) -> Site | None:
    """The line that built the module which refused: it has the name by which it is called."""
    if failure.site is None or not any(site.function in ("forward", "step") for site in failure.stack[:4]):
        return None
    calls = [one for one in syntax(case).nodes(failure.site.file) if isinstance(one, ast.Call)]
    at_line = [one.func for one in calls if one.lineno <= failure.site.line <= (one.end_lineno or one.lineno)]
    names = {last_name(one) for one in at_line}
    names |= {last_name(one.value) for one in at_line if isinstance(one, ast.Attribute) and one.attr == "step"}
    made = {site for file in syntax(case).files for site in _assigned(case, file, names, bound.modules)}
    return made.pop() if len(made) == 1 else None


def _assigned(case: Case, file: str, names: set[str], modules: tuple[str, ...]) -> Iterator[Site]:
    for node in syntax(case).nodes(file):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Call):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            called = {last_name(one) for target in targets for one in _parts(target)}
            if last_name(node.value.func) in modules and called & names:
                yield syntax(case).site(file, node.value.lineno)


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple) else [target]
