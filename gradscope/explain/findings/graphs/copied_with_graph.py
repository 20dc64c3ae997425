"""GS714: a module that is copied while it holds a tensor that has a graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.memory.carried_state import stored_at
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.site import Origin, Site, Stack

OF_OBJECTS = "_reconstruct"  # copy's function for what is no list, dict or tuple
REFUSED = "support the deepcopy protocol"
NORMS = ("weight_norm", "spectral_norm")  # torch's files of norms that keep what they compute


def copied_with_graph(case: Case) -> Iterator[Cause]:
    """What it flags: copy.deepcopy of a module, or of anything else, that keeps a result together with its graph.

    Why: a graph belongs to one computation and cannot be copied, so torch refuses. What a forward keeps on its module
    for later, attention weights or features, is found by whoever copies the model: for an average, a target network or
    the best weights so far.

    Wrong:
        def forward(self, x):
            self.weights = self.scores(x).softmax(1)

    Right:
        def forward(self, x):
            self.weights = self.scores(x).softmax(1).detach()

    Do instead: keep `value.detach()`; or hand it back instead of keeping it, where its gradient is wanted; for torch's
    weight_norm and spectral_norm take those of torch.nn.utils.parametrizations.

    How it is found: torch's refusal, and the lines of methods that keep on self what an operator of the last graphs has
    made. Where several do, the first of them is named.
    """
    for failure in case.failures():
        if REFUSED in failure.message:
            in_object = any(site.function == OF_OBJECTS for site in failure.stack)
            kept = dict(_kept(case)) if in_object else {}
            if not kept:
                yield Cause("something that has a graph is copied here", failure.site, fails=True, certain=False)
                continue
            first, norm = next(iter(kept.items()))
            message = "what is kept here has its graph with it, and is copied with the object that holds it"
            if norm is not None:
                message = f"torch.nn.utils.{norm} keeps the weight that it computes, with its graph, on the module, "
                message += f"which then cannot be copied; torch.nn.utils.parametrizations.{norm} can"
            copied = (Related("fails_at", failure.site, "the copy"),)
            yield Cause(message, first, copied, fails=True, certain=len(kept) == 1)


def _kept(case: Case) -> Iterator[tuple[Site, str | None]]:
    """The lines that keep on self what an operator of the last graphs has made, as its forward came to them, and the
    norm of torch's that does it there."""
    for call in case.backwards()[-2:]:
        for node in sorted(case.graph(call.number).nodes, key=lambda one: (one.seq_nr or 0, -one.id)):
            site = stored_at(case, node.stack)
            if site is not None:
                yield site, _norm(node.stack)


def _norm(stack: Stack) -> str | None:
    names = (PurePath(site.file).stem for site in stack if site.origin is Origin.TORCH)
    return next((name for name in names if name in NORMS), None)
