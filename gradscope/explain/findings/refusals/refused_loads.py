"""GS859 and GS860: torch.load refuses what holds more than tensors and what Python has of itself; load_state_dict()
refuses a state of another model, or of an optimizer over other parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case

# What torch says of a class that it does not make. Of a file that is broken, or none of torch's, it says other things.
_REFUSED = "Weights only load failed. This file can still be loaded"
_OF_A_MODULE = re.compile(r"Error\(s\) in loading state_dict for (\w+)")
_OF_AN_OPTIMIZER = re.compile(
    "loaded state dict (contains a parameter group|has a different number of parameter groups)"
)
_MISSING = re.compile(r"Missing key\(s\) in state_dict: (.*)")
_UNEXPECTED = re.compile(r"Unexpected key\(s\) in state_dict: (.*)")
_SIZE = re.compile(r"size mismatch for (\S+): .*?torch\.Size\((.*?)\).*?torch\.Size\((.*?)\)")
_NAME = re.compile(r'"([^"]+)"')


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


def state_does_not_fit(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in load_state_dict(), for the state is of another model, has other names, or is that
    of an optimizer with other parameters.

    Why: a wrapper (DataParallel, DistributedDataParallel, torch.compile) puts its own prefix before each name; a head
    for other classes has other shapes; an optimizer that is made before a part is thawed or a group is added has fewer
    parameters than the one that was saved.

    Wrong:
        torch.save(torch.compile(model).state_dict(), path)   # names begin with "_orig_mod."
        model.load_state_dict(torch.load(path))

    Right:
        torch.save(model.state_dict(), path)
        model.load_state_dict(torch.load(path))

    Do instead: save the state of the module inside the wrapper, or strip the prefix; leave out what has another shape;
    make the model and the optimizer's groups as they were when the state was saved, and load then.

    How it is found: torch's refusal. The line is the one that loads.
    """
    for failure in case.failures():
        module = _OF_A_MODULE.match(failure.message)
        if failure.site is not None and module is not None:
            told, advice = _of_module(failure.message, module[1])
            yield Cause(told, failure.site, fails=True, advice=advice)
        elif failure.site is not None and _OF_AN_OPTIMIZER.match(failure.message):
            told = "the state is of an optimizer with other parameters than this one has now, or with other groups"
            advice = "thaw, and add groups, as it was when the state was saved; load then"
            yield Cause(told, failure.site, fails=True, advice=advice)


def _of_module(message: str, module: str) -> tuple[str, str]:
    """What does not fit, and what to do."""
    missing, unexpected = (
        set(_NAME.findall(found[1])) if (found := pattern.search(message)) else set()
        for pattern in (_MISSING, _UNEXPECTED)
    )
    theirs, ours = _prefix(missing, unexpected), _prefix(unexpected, missing)
    if theirs:
        told = f"the names in the state begin with `{theirs}`, which those of {module} do not"
        return told, "save the state of the module inside the wrapper, or strip the prefix before loading"
    if ours:
        told = f"the names in {module} begin with `{ours}`, which those of the state do not"
        return told, "load before the module is wrapped, or into the module inside the wrapper"
    size = _SIZE.search(message)
    if size is not None and not missing | unexpected:
        told = f"{size[1]} is [{size[2].strip('[]')}] in the state and [{size[3].strip('[]')}] in {module}"
        return told, "make the model with the sizes that were saved, or leave out what has another shape"
    told = f"the state is not one of this {module}"
    if missing | unexpected:
        where = "is not in the state" if missing else f"of the state is not in {module}"
        told += f": {min(missing or unexpected)} {where}"
    return told, "compare its names with those of state_dict(), and make the model as it was when the state was saved"


def _prefix(short: set[str], long: set[str]) -> str:
    """What each of the long names has before one of the short ones."""
    beginnings = {name.split(".")[0] + "." for name in long}
    prefix = beginnings.pop() if len(beginnings) == 1 else ""
    return prefix if prefix and short and {name.removeprefix(prefix) for name in long} == short else ""
