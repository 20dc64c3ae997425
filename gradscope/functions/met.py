"""Checks the custom Functions that a recording saw, on inputs of the kinds that it saw: `explain --check-functions`.

Only what the run did is tried: its own order of derivatives, in eager mode. Nothing is guessed, and a gradient that
may be meant to differ from the formula's (straight-through, reversal, clipping) is not told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradscope.errors import GradscopeError, UsageError
from gradscope.functions.check import Settings, check
from gradscope.functions.definitions import definitions
from gradscope.functions.inputs.recorded import samples_from_calls
from gradscope.functions.inputs.sample import Sample
from gradscope.functions.loading import attribute, make_working_directory_importable, resolve
from gradscope.model.choice import Choice
from gradscope.model.finding import Confidence, Severity
from gradscope.model.graph import FunctionClass
from gradscope.model.report import Report, Unchecked, Verdict
from gradscope.store.calls import read_calls
from gradscope.store.reader import Recording

_VALUES = ("eager_fwd", "eager_bwd", "float32", "expanded_gout")  # of the first derivative
_SECOND = ("eager_bwd2", "bwd2_engine")
_CONTRACT = ("gout_mutated", "input_mutated", "backward_twice", "subset_grad", "one_output", "threads")
_LOCAL = "<locals>"


def check_met(recording: Recording, choice: Choice) -> Report:
    """What is wrong with the Functions of a recording. `unchecked` names those of which it cannot be said, and why."""
    make_working_directory_importable()
    targets: list[tuple[str, Any]] = []
    samples: dict[str, tuple[Sample, ...]] = {}
    unchecked: list[Unchecked] = []
    for function in recording.functions():
        try:
            calls = read_calls(recording.path, function.name)
            targets.append((function.name, _class_of(recording, function)))
            samples[function.name] = tuple(samples_from_calls(calls))
        except GradscopeError as error:
            unchecked.append(Unchecked(function.bare_name, error.sentence))
    report = check([one for one in targets if one[0] in samples], _settings(recording, choice, samples))
    why = {one.function: "; ".join(one.not_checked) for one in report.subjects if one.verdict is Verdict.NOT_CHECKED}
    unchecked += [Unchecked(name.rpartition(".")[2], reason) for name, reason in why.items()]
    checked = tuple(name.rpartition(".")[2] for name in samples if name not in why)
    failing = {one.function for one in report.subjects if any(trial.status.failed for trial in one.trials.values())}
    errors = (one for one in report.at_least(Severity.ERROR) if one.function in failing)
    findings = tuple(one for one in errors if one.confidence is Confidence.CERTAIN)
    return Report(findings, torch=report.torch, checked=checked, unchecked=tuple(unchecked))


def _settings(recording: Recording, choice: Choice, samples: dict[str, tuple[Sample, ...]]) -> Settings:
    twice = any(call.create_graph for call in recording.backwards())
    trials = (*_VALUES, *(_SECOND if twice else ()), *_CONTRACT)
    return replace(Settings(level="eager", choice=choice, recorded=samples), only=trials)


def _class_of(recording: Recording, function: FunctionClass) -> Any:
    """The class: of a script by its definitions, of any other module by importing it."""
    module, _, name = function.name.partition(".")
    if _LOCAL in function.name:
        raise UsageError("it is defined inside of a function")
    if module != "__main__":
        return resolve(function.name)
    site = function.class_site
    text = None if site is None else recording.sources().get(site.file)
    if site is None or text is None:
        raise UsageError("its source is not in the recording")
    return attribute(definitions(site.file, text), name.split("."), function.name)
