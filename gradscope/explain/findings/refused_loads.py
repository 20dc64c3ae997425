"""GS859: torch.load refuses a file that holds more than tensors and what Python has of itself."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case

# What torch says of a class that it does not make. Of a file that is broken, or none of torch's, it says other things.
_REFUSED = "Weights only load failed. This file can still be loaded"


def load_refused(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in torch.load, for the file holds objects of classes that it does not make.

    Why: since torch 2.6 torch.load makes tensors, containers, strings and numbers of Python alone. A number of numpy's
    (of np.mean, of a metric), an argparse.Namespace, a Path, or a whole module is an object of a class; so a checkpoint
    is written without a word and refused when it is to be resumed from.

    Wrong:
        torch.save({"model": model.state_dict(), "best": np.mean(scores)}, path)
        state = torch.load(path)

    Right:
        torch.save({"model": model.state_dict(), "best": float(np.mean(scores))}, path)
        state = torch.load(path)

    Do instead: save state_dict()s and plain values (float(), str(), vars()); for a file that is there already and that
    you trust, torch.load(path, weights_only=False).

    How it is found: torch's refusal. The line is the one that loads.
    """
    for failure in case.failures():
        if failure.message.startswith(_REFUSED) and failure.site is not None:
            yield Cause(
                "the file holds objects of classes that torch.load does not make by itself, numpy's numbers perhaps",
                failure.site,
                fails=True,
            )
