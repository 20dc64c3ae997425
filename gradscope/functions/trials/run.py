"""Runs trials in a child process, one after the other, and goes on with a new child when one crashes or hangs.

One child serves all trials of a Function: forking is cheap, and only a crash, an abort or a hang costs another one.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import io
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any

import torch

from gradscope.functions.inputs.call_sites import CallSite
from gradscope.functions.inputs.guess import guess, guessed_again, refusal
from gradscope.functions.inputs.sample import Sample
from gradscope.functions.inputs.written import spec_of
from gradscope.functions.meant import Design
from gradscope.functions.seeding import seed_torch
from gradscope.functions.source import Method
from gradscope.functions.subject import METHODS, Subject
from gradscope.functions.trials.anatomy import Anatomy, merged
from gradscope.functions.trials.bench import Bench
from gradscope.functions.trials.design import designed
from gradscope.functions.trials.outcome import NotApplicable, NotTried, Outcome, worst
from gradscope.functions.trials.table import TRIALS
from gradscope.model.report import Source, Status
from gradscope.model.site import Site

FIRST = "inputs"  # the step before the first trial: guess inputs, look inside one run
MOST_DEATHS = 4
DYING = 30.0  # seconds that the end of a process may take, on a machine that is busy
FORKING = threading.Lock()
SHORTEST = 0.5  # seconds for a step, however late it is
ENDS = ("Hang", "Crash")
# What torch imports at the first backward and at the first forward-mode derivative, and at the first use of torch.func:
# a second of CPU, which each child would spend.
OF_BACKWARD = ("torch.fx.experimental.symbolic_shapes", "torch._decomp.decompositions_for_jvp")
OF_TRANSFORMS = ("torch._dynamo",)
FORK_FAILS = (  # torch's words when autograd's device threads, or a CUDA in use, do not survive a fork
    "fork-based multiprocessing",
    "in forked subprocess",
)


@dataclass(frozen=True)
class TrialPlan:
    """What to run on which Function with which inputs; without samples, inputs are guessed."""

    subject: Subject
    trials: tuple[str, ...]
    samples: tuple[Sample, ...] = ()
    reference: Callable[..., Any] | None = None
    custom_gradient: bool = False
    device: str = "cpu"
    timeout: float | None = None
    source: Source | None = None
    calls: tuple[CallSite, ...] = ()  # by which inputs are guessed, too
    limit: float = 60.0  # seconds for all trials together
    looks: bool = True  # call the Function before the trials, to see what its gradient is meant to be
    blind: bool = False  # do not look inside a run: that killed the child before
    guesses: tuple[int, ...] = ()  # the numbers of the guesses that were good, in a child before


@dataclass
class Evidence:
    """What the trials gave. `inputs` describes the samples, one text each; `anatomy` is that of the first,
    with what the others alone keep and change."""

    inputs: tuple[str, ...] = ()
    guesses: tuple[int, ...] = ()
    anatomy: Anatomy = field(default_factory=Anatomy)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    isolated: bool = True
    blind: str = ""  # why nobody could look inside a run
    design: Design = Design.NONE
    symmetric: tuple[int, ...] = ()
    spec: str = ""  # the samples in the words of --spec, where they can be said so
    refusal: str = ""  # what the Function says to guesses when it takes none


def gather(plan: TrialPlan, note: Callable[[str], None] = lambda name: None) -> Evidence:
    """Run the plan's trials, each isolated; `note` is told which one begins."""
    evidence = Evidence()
    if not plan.trials:
        return evidence
    warm_up(transforms=any(TRIALS[name].group not in ("values", "contract") for name in plan.trials))
    if not hasattr(os, "fork"):
        return gather_here(plan, evidence, note)
    fresh = [name for name in plan.trials if TRIALS[name].fresh]
    remaining = [FIRST, *(name for name in plan.trials if name not in fresh)]
    deadline = time.monotonic() + plan.limit
    deaths = 0
    while remaining and deaths < MOST_DEATHS and time.monotonic() < deadline:
        done = run_child(plan, remaining, evidence, note, deadline)
        if not evidence.isolated:
            return gather_here(plan, Evidence(isolated=False), note)
        died_looking = FIRST in done and evidence.outcomes.get(FIRST) is not None
        if died_looking and plan.blind:
            break
        if died_looking:
            plan = replace(plan, blind=True)
            evidence.blind = evidence.outcomes[FIRST].detail
        remaining = remaining if died_looking else remaining[len(done) :]
        deaths += 1
    late = time.monotonic() >= deadline
    reason = out_of_time(plan) if late else f"not run: {deaths} trials before ended the process"
    for name in remaining if late or deaths == MOST_DEATHS else ():
        evidence.outcomes.setdefault(name, Outcome(Status.SKIPPED, reason))
    for name in fresh if evidence.inputs and not late else ():
        run_child(replace(plan, guesses=evidence.guesses, looks=False), [name], evidence, note, deadline)
    return evidence


def out_of_time(plan: TrialPlan) -> str:
    """Why trials were not run any more."""
    return f"not run: the {plan.limit:.0f} s for one Function were over"


def warm_up(*, transforms: bool = False) -> None:
    """Import once what every child would import. Nothing may run here: threads do not survive a fork."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own imports warn of torch's own deprecations
        for name in (*OF_BACKWARD, *OF_TRANSFORMS * transforms):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def gather_here(plan: TrialPlan, evidence: Evidence, note: Callable[[str], None]) -> Evidence:
    """Run without isolation, where a process cannot be forked."""
    evidence.isolated = False
    for name, value in steps(plan, [FIRST, *plan.trials]):
        note(name)
        take(evidence, name, value)
    return evidence


def run_child(
    plan: TrialPlan, names: list[str], evidence: Evidence, note: Callable[[str], None], deadline: float
) -> list[str]:
    """Run as many steps as one child survives; the step that kills it has its outcome, too."""
    parent, process = fork(plan, names)
    done: list[str] = []
    try:
        for name in names:
            note(name)
            limit = plan.timeout or (TRIALS[name].seconds if name in TRIALS else 30.0)
            left = max(deadline - time.monotonic(), SHORTEST)
            try:
                late = out_of_time(plan) if left < limit and name != FIRST else f"did not end within {limit:.0f} s"
                value = parent.recv() if parent.poll(min(limit, left)) else hang(process, late)
            except EOFError:
                process.join(DYING)
                value = crash(process.exitcode)
            take(evidence, name, value)
            done.append(name)
            if (isinstance(value, Outcome) and value.error in ENDS) or (name == FIRST and isinstance(value, Outcome)):
                break
    finally:
        if process.is_alive():
            process.join(1)
            process.kill()
        process.join()
        parent.close()
    return done


def fork(plan: TrialPlan, names: list[str]) -> tuple[Connection, Any]:
    """Start a child; one at a time, so that no child inherits the writing end of another's pipe."""
    context = multiprocessing.get_context("fork")
    with FORKING, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of forks beside threads; the child runs one thread
        parent, child = context.Pipe(duplex=False)
        process = context.Process(target=child_main, args=(plan, names, child), daemon=True)
        process.start()
        child.close()
    return parent, process


def hang(process: Any, reason: str) -> Outcome:
    """End a child that does not answer; whether it hangs or is slow nobody can tell, so that it proves no fault."""
    process.kill()
    process.join()
    return Outcome(Status.SKIPPED, reason, error="Hang")


def crash(status: int | None) -> Outcome:
    """Say how a child died."""
    if status is not None and status < 0:
        return Outcome(
            Status.RAISES,
            f"ended the process: {signal.Signals(-status).name}",
            error="Crash",
        )
    return Outcome(Status.RAISES, f"ended the process with status {status}", error="Crash")


def take(evidence: Evidence, name: str, value: Any) -> None:
    """Put what a step gave where it belongs."""
    if name != FIRST:
        evidence.outcomes[name] = value
    elif isinstance(value, Outcome):
        evidence.isolated = value.error != "Fork"
        evidence.outcomes[FIRST] = value
    else:
        evidence.outcomes.pop(FIRST, None)
        for field_name, part in value.items():
            setattr(evidence, field_name, part)


def child_main(plan: TrialPlan, names: list[str], pipe: Connection) -> None:
    """The child: silent, one thread, and every result sent at once."""
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    sys.stdout = sys.stderr = io.StringIO()  # who captures Python's streams shall see nothing either
    faulthandler.disable()  # a crash here is a result; nobody need read its stack
    torch.set_num_threads(1)
    gc.freeze()  # collections look at what the trials make, not at all of torch
    try:
        for _, value in steps(plan, names):
            pipe.send(value)
        pipe.close()
    finally:
        os._exit(0)


def steps(plan: TrialPlan, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Run the named steps; benches are made once for all of them."""
    warnings.simplefilter("ignore")
    benches: list[Bench] = []
    problem = None
    try:
        benches = make_benches(plan)
    except Exception as error:
        problem = unforked(error) or raised(plan.subject, error)
    for name in names:
        if name == FIRST:
            yield name, problem or prepared(plan, benches)
        else:
            yield name, attempt(plan.subject, benches, name)


def prepared(plan: TrialPlan, benches: list[Bench]) -> Any:
    """The first step's result, or the news that autograd does not work in a forked child here."""
    try:
        (torch.ones(1, requires_grad=True) * 2).sum().backward()  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        if failure := unforked(error):
            return failure
        raise
    numbers = tuple(b.sample.guess for b in benches if b.sample.guess is not None)
    if not benches:
        return {"refusal": refusal(plan.subject, plan.device, plan.calls)}
    chosen = next((bench for bench in benches if bench.design is not Design.NONE), benches[0])
    return {
        "inputs": tuple(str(bench.sample) for bench in benches),
        "guesses": numbers,
        "anatomy": merged([bench.anatomy for bench in benches]),
        "design": chosen.design,
        "symmetric": chosen.symmetric,
        "spec": spec_of([bench.sample for bench in benches]),
    }


def unforked(error: Exception) -> Outcome | None:
    """The outcome that sends the trials back into the parent, when it was the fork that torch refuses."""
    refused = any(text in str(error) for text in FORK_FAILS)
    return Outcome(Status.RAISES, str(error), error="Fork") if refused else None


def blinded(bench: Bench) -> Bench:
    """A bench that takes nothing for granted about the inside of a run."""
    bench.anatomy = Anatomy()
    return bench


def make_benches(plan: TrialPlan) -> list[Bench]:
    """One bench for each sample, on the device asked for."""
    again = guessed_again(plan.subject, plan.guesses, plan.calls)
    samples = [sample.on(plan.device) for sample in plan.samples or again]
    samples = samples or guess(plan.subject, blind=plan.blind, device=plan.device, calls=plan.calls)
    once = plan.subject.once_differentiable
    benches = [
        Bench(plan.subject.function, s, plan.custom_gradient, plan.reference, plan.device, once) for s in samples
    ]
    if plan.blind:
        return [blinded(bench) for bench in benches]
    declared = plan.subject.declared
    benches = [replace(bench.on_symmetric(declared.symmetric), tolerance=declared.tolerance) for bench in benches]
    assumes = plan.looks and declared.custom_gradient is None and not plan.custom_gradient and plan.reference is None
    return [designed(bench, plan.subject) for bench in benches] if assumes else benches


def attempt(subject: Subject, benches: list[Bench], name: str) -> Outcome:
    """One trial on every sample; the worst outcome stands for all."""
    outcomes = []
    for bench in benches:
        with contextlib.suppress(AttributeError):
            seed_torch()
        try:
            outcomes.append(TRIALS[name].run(bench))
        except NotApplicable as reason:
            outcomes.append(Outcome(Status.NOT_APPLICABLE, str(reason)))
        except NotTried as reason:
            outcomes.append(Outcome(Status.SKIPPED, str(reason)))
        except (Exception, SystemExit) as error:
            outcomes.append(raised(subject, error))
    return worst(outcomes) if outcomes else Outcome(Status.SKIPPED, "no inputs")


def raised(subject: Subject, error: BaseException) -> Outcome:
    """An exception as plain data, with the innermost line of the Function's own methods that it came through."""
    message = str(error).strip()
    method, site, depth = place(subject, error)
    text = message.splitlines()[0] if message else ""
    facts = {"in_method": depth}
    return Outcome(
        Status.RAISES, f"{type(error).__name__}: {text}"[:300], type(error).__name__, message, method, site, facts
    )


def place(subject: Subject, error: BaseException) -> tuple[str, Site | None, bool]:
    """The method and line an exception came through; whether the line itself belongs to the user's code."""
    found: tuple[str, Site | None] = ("", None)
    frames = list(traceback.walk_tb(error.__traceback__))
    for frame, line in frames:
        method = method_of(subject, frame.f_code)
        if method is not None:
            index = line - method.first_line
            source = method.lines[index].strip() if 0 <= index < len(method.lines) else None
            found = (method.name, Site(method.file, line, method.name, source))
    return (*found, found[1] is not None)


def method_of(subject: Subject, code: Any) -> Method | None:
    """The subject's method that a frame's code belongs to."""
    for name in METHODS:
        method = subject.method(name)
        if method is None or method.file != code.co_filename:
            continue
        last = method.first_line + max(len(method.lines), 1)
        if code.co_name not in METHODS and not code.co_name.startswith("<") and method.node is None:
            continue
        if method.first_line <= code.co_firstlineno < last:
            return method
    return None
