"""GS865: a batch normalisation that keeps nearly the last batch's averages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.module_builds import built_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.finding import Related
from gradscope.model.notice import FORGETFUL, FORGETS_BATCHES, Notice
from gradscope.model.site import Site

_OF_A_NORM = re.compile(r"(?:bn|norm)\w*mom|mom\w*(?:bn|norm)", re.IGNORECASE)


def forgets_batches(case: Case) -> Iterator[Cause]:
    """What it flags: a batch normalisation whose momentum is nearly 1.

    Why: torch's momentum is the share of the new batch in the running averages, 0.1 by default; in TensorFlow and in
    papers it is what is kept of the old ones, 0.9 or 0.99. The averages then are those of the last batch, and the model
    is another in evaluation than in training.

    Wrong:
        self.norm = nn.BatchNorm2d(64, momentum=0.99)

    Right:
        self.norm = nn.BatchNorm2d(64, momentum=0.01)

    Do instead: give it 1 - momentum of what you have read.

    How it is found: the momentum, from 0.9 to below 1, with which it normalised by the batch. The line is that which
    built it, or else the only one that gives a setting named after both such a number. A hint: somebody may want it.
    """
    told: dict[Site | None, Cause] = {}
    for notice in (one for one in case.notices() if one.what == FORGETS_BATCHES):
        built = _built(case, notice)
        if built is None or "0.9" not in (built.source or ""):
            built = _set_at(case) or built
        related = () if built is None else (Related("called_at", notice.site, "normalises"),)
        message = "this momentum keeps nearly nothing of the batches before: in torch it is the share of the new one"
        told.setdefault(built or notice.site, Cause(message, built or notice.site, related, certain=False))
    yield from told.values()


def _built(case: Case, notice: Notice) -> Site | None:
    """The line that built the module in which a notice was made."""
    operations = (one for block in case.blocks() for one in block.operations)
    running = next((one.module for one in operations if one.module is not None and one.stack == notice.stack), None)
    return built_at(case, running)


def _set_at(case: Case) -> Site | None:
    """The only line that gives a name like bn_momentum a number from 0.9 to below 1."""
    found = [
        syntax(case).site(file, node.lineno)
        for file in syntax(case).files
        for node in syntax(case).nodes(file)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant)
        if type(node.value.value) is float and FORGETFUL <= node.value.value < 1
        if _OF_A_NORM.search(ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target))
    ]
    return found[0] if len(found) == 1 else None
