"""The front of the room: check one Function or many, and report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from gradscope.errors import UsageError
from gradscope.functions.declarations import declared_for
from gradscope.functions.inputs.build import samples_from_data, samples_from_spec
from gradscope.functions.inputs.call_sites import call_sites
from gradscope.functions.inputs.sample import Sample
from gradscope.functions.judge import judge
from gradscope.functions.loading import is_function_class, resolve
from gradscope.functions.meant import Design
from gradscope.functions.rules.case import BASIC, FunctionCase
from gradscope.functions.subject import Subject, read
from gradscope.functions.trials.anatomy import Anatomy
from gradscope.functions.trials.outcome import Outcome
from gradscope.functions.trials.run import FIRST, Evidence, TrialPlan, gather
from gradscope.functions.trials.table import TRIALS
from gradscope.model.choice import Choice
from gradscope.model.declaration import Declaration
from gradscope.model.finding import Finding, Severity
from gradscope.model.report import Report, Source, Status, SubjectReport, TrialResult, Unchecked, Unimported, Verdict

DECLARED = "declared"  # the level that each class itself promises


@dataclass(frozen=True)
class Settings:
    """What the user asks for. `level` is eager, func, compile, or DECLARED. `samples` are already made, with their
    source; `recorded` has those of some names. `timeout` is for one trial, `limit` for all of one Function, in seconds.
    `only` names trials, all when it names none; `use_call_sites`: guess also by how the package calls a Function.
    """

    level: str = DECLARED
    custom_gradient: bool = False
    choice: Choice = field(default_factory=Choice)
    reference: Callable[..., Any] | None = None
    device: str = "cpu"
    samples: tuple[Sample, ...] = ()
    source: Source | None = None
    jobs: int = 1
    timeout: float | None = None
    limit: float = 60.0
    recorded: dict[str, tuple[Sample, ...]] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    use_call_sites: bool = True
    declarations: tuple[Declaration, ...] = ()

    def read(self, name: str, candidate: Any) -> Subject:
        """A candidate as it reads, with what is declared of it."""
        return read(name, candidate, is_function_class(candidate), declared_for(name, self.declarations))

    def level_of(self, subject: Subject) -> str:
        """The level that counts for one Function: the one asked for, else what its class declares."""
        level = subject.declared.level or DECLARED if self.level == DECLARED else self.level
        return subject.promise if level == DECLARED else level

    def trials_of(self, subject: Subject) -> tuple[str, ...]:
        """The trials to run: `only` some, else all, those of a transform or a compiler where they can say anything."""
        level = self.level_of(subject)
        left_out = set() if level == "compile" else {"compile"}
        left_out |= {"torch.func"} if level == "eager" and not subject.separate_context else set()
        return self.only or tuple(name for name, trial in TRIALS.items() if trial.group not in left_out)


Note = Callable[[str, str], None]
Result = tuple[SubjectReport, tuple[Finding, ...]]
ABOUT_TORCH = "GS330"
FACTORY = re.compile(r"[\w.]+:[\w.]+")
NO_TRANSFORMS = "forward takes ctx, which no transform takes"


def check(targets: Iterable[tuple[str, Any]], settings: Settings, note: Note = lambda function, trial: None) -> Report:
    """Check named candidates; each runs in a child process of its own, `jobs` of them at a time."""
    subjects = [settings.read(name, one) for name, one in targets]
    skipped = tuple(Unchecked(one.name, one.declared.skip) for one in subjects if one.declared.skip)
    plans = [plan_for(subject, settings) for subject in subjects if not subject.declared.skip]
    # the pool's threads only fork and wait: torch running in one of them would hold locks that a fork copies for ever
    with ThreadPoolExecutor(max(settings.jobs, 1)) as pool:
        gathered = list(pool.map(lambda plan: gather(plan, lambda trial: note(plan.subject.name, trial)), plans))
    results = [report_one(plan, evidence, settings) for plan, evidence in zip(plans, gathered, strict=True)]
    return report_of(results, skipped)


def check_one(name: str, candidate: Any, settings: Settings) -> Result | Unchecked:
    """Check one candidate: what is said of it, and its findings; or why it is not to be checked."""
    subject = settings.read(name, candidate)
    if subject.declared.skip:
        return Unchecked(name, subject.declared.skip)
    plan = plan_for(subject, settings)
    return report_one(plan, gather(plan), settings)


def report_of(
    results: Iterable[Result], skipped: tuple[Unchecked, ...] = (), unimported: tuple[Unimported, ...] = ()
) -> Report:
    """One report of many results."""
    import torch

    found = list(results)
    findings = said_once(finding for _, findings in found for finding in findings)
    return Report(
        findings, tuple(subject for subject, _ in found), torch.__version__, unchecked=skipped, unimported=unimported
    )


def said_once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, those about torch itself (it functionalizes no Function at all) with the first Function alone."""
    kept: list[Finding] = []
    for finding in findings:
        if finding.code != ABOUT_TORCH or not any(other.code == ABOUT_TORCH for other in kept):
            kept.append(finding)
    return tuple(kept)


def plan_for(subject: Subject, settings: Settings) -> TrialPlan:
    """What to run on one candidate; nothing on something that is no Function."""
    custom = settings.custom_gradient or subject.custom_gradient
    runnable = subject.function is not None and subject.has("forward")
    samples, source = inputs_for(subject, settings)
    if runnable and source is Source.GIVEN:
        check_fit(subject, samples)
    trials = settings.trials_of(subject) if runnable else ()
    return TrialPlan(
        subject,
        trials,
        samples,
        settings.reference,
        custom,
        settings.device,
        settings.timeout,
        source=source,
        calls=tuple(call_sites(subject)) if settings.use_call_sites and source is Source.GUESSED else (),
        limit=settings.limit,
    )


def report_one(plan: TrialPlan, evidence: Evidence, settings: Settings) -> Result:
    """Ask the rules what one candidate's trials mean."""
    outcomes = {name: evidence.outcomes.get(name) or not_run(plan, evidence, name) for name in TRIALS}
    level = settings.level_of(plan.subject)
    asked = settings.level != DECLARED or plan.subject.declared.level not in ("", DECLARED)
    custom, design = plan.custom_gradient or evidence.design.replaces, evidence.design
    case = FunctionCase(plan.subject, evidence.anatomy, outcomes, level, asked, custom, plan.source, design)
    choice = replace(settings.choice, reasons=plan.subject.declared.ignore)
    findings, silenced = judge(case, choice)
    return summary(case, evidence, findings, silenced), findings


def inputs_for(subject: Subject, settings: Settings) -> tuple[tuple[Sample, ...], Source]:
    """The samples and where they come from: an option, the class or its module, else they are guessed."""
    if settings.samples:
        return settings.samples, settings.source or Source.GIVEN
    if subject.name in settings.recorded:
        return settings.recorded[subject.name], Source.RECORDED
    if subject.declared.inputs:
        return tuple(configured_inputs(subject)), Source.DECLARED
    declared = declared_inputs(subject)
    if declared is not None:
        return tuple(samples_from_data(declared, f"what is declared as inputs of {subject.name}")), Source.DECLARED
    return (), Source.GUESSED


def check_fit(subject: Subject, samples: Iterable[Sample]) -> None:
    """Refuse given inputs that are more or fewer than forward takes."""
    forward = subject.method("forward")
    places = forward.names if forward and not forward.takes_any else ()
    context = 0 if subject.separate_context else 1
    needed = sum(p.default is p.empty for p in forward.parameters if p.name in places) - context if forward else 0
    for sample in samples if places else ():
        if not needed <= len(sample.args) <= len(places) - context:
            raise UsageError(
                f"the inputs given for {subject.name} are {len(sample.args)}, its forward takes {needed}",
                f"forward({', '.join(places[context:])})",
            )


def configured_inputs(subject: Subject) -> list[Sample]:
    """The inputs that the configuration gives: a spec, or what a factory makes."""
    text = subject.declared.inputs
    if FACTORY.fullmatch(text):
        return samples_from_data(resolve(text), text)
    return samples_from_spec(text, f"the inputs of {subject.name}")


def declared_inputs(subject: Subject) -> Any:
    """`gradscope_inputs` on the class, or `<Name>_inputs` in its module."""
    import sys

    if subject.function is None:
        return None
    own = getattr(subject.function, "gradscope_inputs", None)
    module = sys.modules.get(subject.function.__module__)
    return own if own is not None else getattr(module, f"{subject.function.__name__}_inputs", None)


def not_run(plan: TrialPlan, evidence: Evidence, name: str) -> Outcome:
    """The outcome of a trial that was not run: why."""
    group = TRIALS[name].group
    if group == "compile" and evidence.outcomes:
        return Outcome(Status.SKIPPED, "only with --level compile")
    if group == "torch.func" and evidence.inputs and not plan.subject.separate_context:
        return Outcome(Status.NOT_APPLICABLE, NO_TRANSFORMS)
    return Outcome(Status.SKIPPED, "not run" if evidence.inputs else "no inputs were found")


def summary(case: FunctionCase, evidence: Evidence, findings: tuple[Finding, ...], silenced: int) -> SubjectReport:
    """The report on one Function; without inputs, or time for one backward, it is "not checked", never "ok"."""
    tried = bool(evidence.inputs) and not any(case.outcome(name).status is Status.SKIPPED for name in BASIC)
    checked = tried and case.ran(*TRIALS) and not case.inputs_refused
    worth = (Severity.ERROR, Severity.WARNING) if checked else (Severity.ERROR,)
    serious = [f for f in findings if f.severity in worth]
    verdict = Verdict.FINDINGS if serious else Verdict.OK if checked else Verdict.NOT_CHECKED
    return SubjectReport(
        function=case.subject.name,
        inputs=case.source if evidence.inputs else None,
        verdict=verdict,
        trials={
            name: TrialResult(outcome.status, outcome.detail, TRIALS[name].group)
            for name, outcome in case.outcomes.items()
        },
        site=case.subject.site,
        rests_on="; ".join(evidence.inputs),
        not_checked=tuple(not_checked(case, evidence)),
        ignored=silenced,
        spec=evidence.spec,
        meant=meant(evidence.design, evidence.symmetric),
    )


def meant(design: Design, symmetric: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
    """The settings that declare what was taken as meant."""
    if design.replaces:
        return (("custom_gradient", "true"),)
    return (("symmetric", str(list(symmetric))),) if symmetric else ()


def not_checked(case: FunctionCase, evidence: Evidence) -> list[str]:
    """What could not be looked at, in sentences."""
    gaps: list[str] = []
    if case.inputs_refused:
        gaps.append(f"forward does not take the inputs that are given: it raises {case.outcome('eager_fwd').detail}")
    first = evidence.outcomes.get(FIRST)
    if evidence.inputs and evidence.blind:
        gaps.append(f"the inside of a run, because the first one {evidence.blind}")
    if case.subject.function is not None and not evidence.inputs:
        said = f": {evidence.refusal}" if evidence.refusal else ""
        gaps.append(
            f"no inputs: {first.detail}"
            if first
            else f"forward takes no guess{said}; give inputs with --inputs or --spec"
        )
    if case.subject.unseen:
        gaps.append(f"the source of {', '.join(case.subject.unseen)} is missing: rules that read it are silent")
    gaps += left_out(case.outcomes) if evidence.inputs else ()
    if evidence.inputs and not evidence.isolated:
        gaps.append("the trials ran without isolation: this process cannot be forked")
    return gaps


def left_out(outcomes: dict[str, Outcome]) -> list[str]:
    """The trials that were not run, with the reason, one sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for name, outcome in outcomes.items():
        if outcome.status is Status.SKIPPED:
            reasons.setdefault(outcome.detail, []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]


def check_function(
    function: Any,
    inputs: Any = None,
    *,
    level: str = DECLARED,
    reference: Callable[..., Any] | None = None,
    custom_gradient: bool = False,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    device: str = "cpu",
    declared: tuple[Declaration, ...] = (),
) -> Report:
    """Check an autograd.Function; `inputs` is a tuple of arguments, a list of them or a callable that makes them.

    `declared` is what a configuration says of Functions, as `declarations()` reads it.
    """
    settings = Settings(level, custom_gradient, Choice(select, ignore), reference, device, declarations=declared)
    if inputs is not None:
        settings = replace(settings, samples=tuple(samples_from_data(inputs, "inputs")), source=Source.GIVEN)
    name = f"{function.__module__}.{function.__qualname__}" if isinstance(function, type) else repr(function)
    return check([(name, function)], settings)


__all__ = ["Anatomy", "Settings", "TrialResult", "check", "check_function"]
