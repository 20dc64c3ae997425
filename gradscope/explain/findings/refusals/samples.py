"""GS839: samples that do not make a batch, told by the line of the dataset that made the last of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.failed_forward import operations_before
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.site import Origin, Site

ITEM = "__getitem__"
LAST = 200  # operators before the failure among which the dataset's are looked for
_UNEQUAL = re.compile(
    r"stack expects each tensor to be equal size, but got (\[[\d, ]*\]) at entry \d+ and (\[[\d, ]*\])"
)


def samples_differ(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended where a DataLoader makes a batch of samples that have not all one shape.

    Why: default_collate stacks the samples of a batch. A grey picture among coloured ones has one channel, pictures and
    texts come in different sizes; which of them meet in a batch is a matter of the shuffling, so it may go well for an
    epoch.

    Wrong:
        def __getitem__(self, i):
            return to_tensor(Image.open(self.paths[i])), self.labels[i]

    Right:
        def __getitem__(self, i):
            return to_tensor(Image.open(self.paths[i]).convert("RGB").resize((64, 64))), self.labels[i]

    Do instead: bring every sample to one shape (channels, size, length) in the dataset, or give the DataLoader a
    collate_fn that pads.

    How it is found: torch's refusal in the collate function. The line is the only one that builds a DataLoader without
    a collate_fn, where the program has one; the one of __getitem__ that ran last; where no operator ran there, or the
    samples are sequences of several lengths, what the program's only __getitem__ returns.
    """
    for failure in case.failures():
        found = _UNEQUAL.search(failure.message)
        if found is None or not any("collate" in site.function for site in failure.stack):
            continue
        returned = _returned(case)
        made = returned if returned is not None and _are_sequences(*found.groups()) else _ran_last(case, failure)
        site = _without_collate(case) or made or returned
        if site is not None:
            yield Cause(
                f"samples of one batch have different shapes: {found.group(1)} and {found.group(2)}",
                site,
                (Related("fails_at", failure.site),),
                fails=True,
                certain=False,
            )


def _without_collate(case: Case) -> Site | None:
    """The only line that builds a DataLoader without a collate_fn, in a program that has a function of that name."""
    nodes = [(file, node) for file in syntax(case).files for node in syntax(case).nodes(file)]
    if not any(isinstance(node, ast.FunctionDef) and "collate" in node.name for _, node in nodes):
        return None
    built = [(file, node) for file, node in nodes if isinstance(node, ast.Call) and called_name(node) == "DataLoader"]
    without = [(file, node) for file, node in built if "collate_fn" not in {one.arg for one in node.keywords}]
    return syntax(case).site(without[0][0], without[0][1].lineno) if len(without) == 1 else None


def _are_sequences(one: str, other: str) -> bool:
    """Whether two shapes differ in their length alone: then what ran last, as to normalise them, is not to blame."""
    first, second = (shape.strip("[]").split(", ") for shape in (one, other))
    return len(first) == len(second) <= 2 and first[0] != second[0] and first[1:] == second[1:]


def _ran_last(case: Case, failure: Failure) -> Site | None:
    frames = (site for operation in reversed(operations_before(case, failure, LAST)) for site in operation.stack)
    return next((site for site in frames if site.function == ITEM and site.origin is Origin.USER), None)


def _returned(case: Case) -> Site | None:
    """The line of the only `return` of the only __getitem__ that the program has."""
    found = [
        syntax(case).site(file, inner.lineno, ITEM)
        for file in syntax(case).files
        for node in syntax(case).nodes(file)
        if isinstance(node, ast.FunctionDef) and node.name == ITEM
        for inner in ast.walk(node)
        if isinstance(inner, ast.Return)
    ]
    return found[0] if len(found) == 1 else None
