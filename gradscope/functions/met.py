"""Checks the custom Functions that a recording saw, on inputs of the kinds that it saw: `explain --check-functions`.

Only what the run did is tried: its own order of derivatives, in eager mode. Nothing is guessed, and a gradient that
may be meant to differ from the formula's (straight-through, reversal, clipping) is not told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from gradscope.errors import GradscopeError, UsageError
from gradscope.functions.check import Settings, check
from gradscope.functions.definitions import definitions
from gradscope.functions.inputs.recorded import samples_from_calls
from gradscope.functions.inputs.sample import Sample
from gradscope.functions.loading import attribute, make_working_directory_importable, resolve
from gradscope.model.call import RecordedCall
from gradscope.model.choice import Choice
from gradscope.model.finding import Confidence, Finding, Severity
from gradscope.model.graph import FunctionClass
from gradscope.model.report import Report, SubjectReport, Unchecked, Verdict

_VALUES = ("eager_fwd", "eager_bwd", "float32", "expanded_gout")  # of the first derivative
_SECOND = ("eager_bwd2", "bwd2_engine")
_CONTRACT = ("gout_mutated", "input_mutated", "backward_twice", "subset_grad", "one_output", "threads")
_LOCAL = "<locals>"
_REFUSES = "it raises on values of our own, in the shapes that it was called with"


@dataclass(frozen=True, slots=True)
class Met:
    """A Function that a run met: how it was called, and the text of its file where the recording has it."""

    function: FunctionClass
    calls: tuple[RecordedCall, ...]
    text: str | None


def check_met(met: Iterable[Met], twice: bool, choice: Choice) -> Report:
    """What is wrong with these Functions; `twice` where the run took second derivatives.

    `unchecked` names those of which it cannot be said, and why.
    """
    make_working_directory_importable()
    targets: list[tuple[str, Any]] = []
    samples: dict[str, tuple[Sample, ...]] = {}
    unchecked: list[Unchecked] = []
    for one in met:
        name = one.function.name
        try:
            samples[name] = _samples(one)
            targets.append((name, _class_of(one)))
        except GradscopeError as error:
            unchecked.append(Unchecked(one.function.bare_name, error.sentence))
    trials = (*_VALUES, *(_SECOND if twice else ()), *_CONTRACT)
    settings = replace(Settings(level="eager", choice=choice, recorded=samples), only=trials)
    report = check(targets, settings)
    why = {one.function: "; ".join(one.not_checked) for one in report.subjects if one.verdict is Verdict.NOT_CHECKED}
    why |= {one.function: _REFUSES for one in report.subjects if _refuses_what_fits(one)}
    unchecked += [Unchecked(name.rpartition(".")[2], reason) for name, reason in why.items()]
    checked = tuple(name.rpartition(".")[2] for name, _ in targets if name not in why)
    told = tuple(one for one in _told(report) if one.function not in why)
    return Report(told, torch=report.torch, checked=checked, unchecked=tuple(unchecked))


def _refuses_what_fits(subject: SubjectReport) -> bool:
    """Whether its forward, which ran when it was recorded, raises: a recording has shapes and no values, and a length
    or an index that fits no other input is ours.
    """
    return "eager_fwd" in subject.trials and subject.trials["eager_fwd"].status.failed


def _told(report: Report) -> tuple[Finding, ...]:
    """What is certain, of those whose trials fail: what the run never asked of a Function is no fault of the run."""
    failing = {one.function for one in report.subjects if any(trial.status.failed for trial in one.trials.values())}
    errors = (one for one in report.at_least(Severity.ERROR) if one.function in failing)
    return tuple(one for one in errors if one.confidence is Confidence.CERTAIN)


def _samples(met: Met) -> tuple[Sample, ...]:
    if not met.calls:
        raise UsageError("how it was called is not in the recording")
    return tuple(samples_from_calls(met.calls))


def _class_of(met: Met) -> Any:
    """The class: of a script by its definitions, of any other module by importing it."""
    name, site = met.function.name, met.function.class_site
    if _LOCAL in name:
        raise UsageError("it is defined inside of a function")
    module, _, path = name.partition(".")
    if module != "__main__":
        return resolve(name)
    if site is None or met.text is None:
        raise UsageError("its source is not in the recording")
    return attribute(definitions(site.file, met.text), path.split("."), name)
