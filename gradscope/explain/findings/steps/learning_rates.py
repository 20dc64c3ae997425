"""GS805: an optimizer that goes on stepping with a learning rate of zero, or as good as zero."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.settings import setting_line
from gradscope.explain.deductions.steps.rates_between_steps import advanced_beside_backward, scheduled_beside_backward
from gradscope.explain.deductions.steps.small_rates import is_too_small
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import creation, made_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import last_name, names_in
from gradscope.model.finding import Related, Severity
from gradscope.model.site import Site
from gradscope.model.training import AIM, RESTORE, SCHEDULE, STEP, LearningRate

_STEPS = 8  # at zero, at the end of the run
_SHARE = 0.25  # of all steps
_RISES, _RARELY = 3, 3  # of a rate in its warm-up; steps of an optimizer for one of its schedule
_EARLY, _LOW, _WITH, _MANY = 0.1, 0.1, 0.9, 40  # parts of all steps, of the largest rate, of the steps; steps
_LAMBDA, _EXACT = "LambdaLR", 1e-6
_FACTOR = "return a factor, which the rate that the optimizer was made with is multiplied by; or make it with lr=1.0"
_AT_ONCE = 0.01  # what a step of a schedule that is meant leaves of a rate, at least
_ENDED = 1e-4  # of the rate that a schedule began with: one that ends there is not gone on with
_NOTHING = 1e-5  # of the largest rate: schedules that are meant do not stay there


def rate_of_zero(case: Case) -> Iterator[Cause]:
    """What it flags: an optimizer whose learning rate is zero, or as good as zero, for the last part of the run or all
    of it.

    Why: with lr 0 a step changes nothing. A schedule that is stepped for each batch, but was made for epochs, or that
    was given fewer steps than the run has, ends there early and silently.

    Wrong:
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=10)
        for x, y in loader:  # a thousand batches
            step(x, y)
            scheduler.step()

    Right:
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=len(loader))

    Do instead: give the schedule the number of steps that it will be stepped, or step it once for each epoch.

    How it is found: the rate of each group where it changes, and the number of steps: less than a hundred-thousandth of
    its largest rate for a quarter of them. Where only some groups have a rate of zero it is a hint: that is also a way
    to freeze a part; the line is that which sets the rate of one group in each turn of a loop over groups. Or a state
    was loaded whose rate a schedule had brought to less than a ten-thousandth, and no schedule follows. Or the rate,
    times the steps, times the largest gradient, or one for each element, is less than a hundredth of every weight, in
    a program that loads no weights.
    """
    for optimizer, (groups, zero, since, greatest) in _rates(case).items():
        steps = _steps(case, optimizer)
        if not zero or steps - since < max(_STEPS, _SHARE * steps):
            continue
        scheduled = (scheduled_beside_backward(case, optimizer) or _scheduled(case, optimizer)) if since else None
        setter = _set_at(case) if since and scheduled is None else None
        beside = None if setter is None else advanced_beside_backward(case, optimizer, setter)
        missed = None if zero == groups else _set_in_each_turn(case)
        made = made_at(case, optimizer)
        every = zero == groups
        words = "0" if not greatest else f"less than {greatest:.0e}"
        yield Cause(
            f"the learning rate{'' if every else f' of {zero} of {groups} groups'} is {words} in "
            + ("all" if not since else f"the last {steps - since}")
            + f" of {steps} steps",
            _factor(case, optimizer) or scheduled or beside or setter or missed or _rate(case, optimizer) or made,
            _places(made if scheduled is not None else None, setter if beside is not None else None),
            certain=every,
            severity=Severity.WARNING if every else Severity.INFO,
        )

    yield from _too_small(case)
    yield from _put_back(case)


def _places(made: Site | None, setter: Site | None) -> tuple[Related, ...]:
    declared = () if made is None else (Related("declared_at", made, "the optimizer"),)
    return declared + (() if setter is None else (Related("modified_at", setter, "the rate is set"),))


def _too_small(case: Case) -> Iterator[Cause]:
    """A rate that does not rise, and with which no weight has moved at the end of the run."""
    told: dict[int, list[LearningRate]] = defaultdict(list)
    for rate in case.learning_rates():
        told[rate.optimizer].append(rate)
    for optimizer, rates in told.items():
        steps, largest = _steps(case, optimizer), max(one.value for one in rates)
        rises = any(one.group == other.group and one.value < other.value for one, other in pairwise(rates))
        if largest > 0 and not rises and is_too_small(case, largest, steps):
            yield Cause(
                f"with a learning rate of {largest:.2g}, {steps} steps have moved no weight by a hundredth of its "
                "size: the model ends as it began",
                _rate(case, optimizer) or made_at(case, optimizer),
                certain=False,
                advice="take a usual rate: 1e-2 to 1e-1 for SGD, 1e-4 to 1e-3 for Adam; 1e-6 is for models that are "
                "trained already",
            )


def _put_back(case: Case) -> Iterator[Cause]:
    """An optimizer that was given the state of one whose schedule had ended, and goes on without a schedule."""
    calls = [call for timeline in timelines(case) for _, call in timeline.of(RESTORE, SCHEDULE)]
    scheduled = {call.optimizer for call in calls if call.kind is SCHEDULE}
    for load in calls:
        rates = [one for one in case.learning_rates() if one.optimizer == load.optimizer]
        others = [one.value for one in case.learning_rates() if one.optimizer != load.optimizer and one.count != AIM]
        aims = [one.value for one in rates if one.count == AIM] or ([max(others)] if others else [])
        ran = [one.value for one in rates if one.count != AIM]
        steps = _steps(case, load.optimizer)
        left = load.optimizer not in scheduled and ran and aims and max(ran) <= _ENDED * min(aims)
        if load.kind is RESTORE and left and steps >= _STEPS:
            yield Cause(
                f"the state that is loaded holds the rate too: all {steps} steps after it are made at {max(ran):.1e}, "
                f"where the training had begun with {min(aims):.2g}",
                load.site,
                certain=False,
                advice="set the rate of each group after loading the state, or make a new schedule and load its state.",
            )
            return


def rate_stays_low(case: Case) -> Iterator[Cause]:
    """What it flags: a schedule that warms up and is stepped so rarely that the run ends in its warm-up.

    Why: a warm-up that was made for batches, and is stepped once for each epoch, takes as many epochs. The rate rises a
    little with each, and the model trains at a small part of the rate that was chosen: it learns, slowly.

    Wrong:
        for epoch in range(8):
            for x, y in loader:
                step(x, y)
            scheduler.step()  # its warm-up has 500 steps

    Right:
        for epoch in range(8):
            for x, y in loader:
                step(x, y)
                scheduler.step()

    Do instead: step the schedule where it counts what it was made for, after each optimizer.step(); or give it epochs.

    How it is found: the rate has only risen, and not to half of the one that the schedule goes by, while the schedule
    was stepped three times or more, once for several steps of the optimizer. A hint: a run may have been cut short. Or
    the largest rate is the square of the one that the schedule goes by: the function of a LambdaLR, which gives a
    factor, gives a rate. Or a schedule that is stepped with the optimizer had brought the rate to a tenth in the first
    tenth of the steps, and left it there.
    """
    yield from _squared(case)
    yield from _over_early(case)
    told: dict[tuple[int, int], list[LearningRate]] = defaultdict(list)
    for rate in case.learning_rates():
        told[rate.optimizer, rate.group].append(rate)
    said: set[int] = set()
    for (optimizer, _), rates in told.items():
        aim, values = rates[0], [one.value for one in rates[1:]]
        if optimizer in said or aim.count != AIM or len(values) < _RISES:
            continue
        scheduled, steps = _times_scheduled(case, optimizer), _steps(case, optimizer)
        if values == sorted(values) and 0 < values[-1] < aim.value / 2 and _RISES <= scheduled <= steps / _RARELY:
            said.add(optimizer)
            yield Cause(
                f"the learning rate ends at {values[-1]:.2g}, on its way to {aim.value:.2g}: its schedule was stepped "
                f"{scheduled} times in {steps} steps",
                _interval(case) or _scheduled(case, optimizer),
            )


def _over_early(case: Case) -> Iterator[Cause]:
    """A schedule of epochs that is stepped for each batch: what it lowers is low before the first epochs are over."""
    told: dict[int, list[LearningRate]] = defaultdict(list)
    for rate in case.learning_rates():
        if rate.count != AIM and rate.group == 0:
            told[rate.optimizer].append(rate)
    for optimizer, rates in told.items():
        steps, last = _steps(case, optimizer), rates[-1]
        early = len(rates) > 1 and last.count <= _EARLY * steps and last.value <= _LOW * max(one.value for one in rates)
        if early and last.value > 0 and steps >= _MANY and _times_scheduled(case, optimizer) >= _WITH * steps:
            yield Cause(
                f"the learning rate is {last.value:.2g} from step {last.count} of {steps} on: a schedule over so "
                "early may count epochs, and is stepped for each batch",
                _scheduled(case, optimizer),
            )


def _interval(case: Case) -> Site | None:
    """The only line that has somebody else's loop step the schedule once for each epoch."""
    found = list(syntax(case).everywhere(_is_for_epochs))
    return found[0] if len(found) == 1 else None


def _is_for_epochs(node: ast.AST) -> bool:
    """`{"scheduler": scheduler, "interval": "epoch"}`"""
    pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
    given = {key.value: ast.unparse(value) for key, value in pairs if isinstance(key, ast.Constant)}
    return "scheduler" in given and given.get("interval") == "'epoch'"


def _squared(case: Case) -> Iterator[Cause]:
    """The function of the only LambdaLR, where the largest rate is the square of the one that was to be multiplied."""
    aims, greatest = dict[int, float](), dict[int, float]()
    for rate in case.learning_rates():
        known, choose = (aims, min) if rate.count == AIM else (greatest, max)
        known[rate.optimizer] = choose(rate.value, known.get(rate.optimizer, rate.value))
    for optimizer, aim in aims.items():
        if 0 < aim < 1 and math.isclose(greatest.get(optimizer, 0.0), aim * aim, rel_tol=_EXACT):
            made = [call for file in syntax(case).files for call in _lambda_schedules(case, file)]
            if len(made) == 1:
                message = (
                    f"the learning rate is at most {aim * aim:.2g}, the square of {aim:.2g}: a LambdaLR multiplies "
                )
                message += "by what its function gives, which is a rate here"
                site, function = made[0]
                related = (Related("declared_at", site, _LAMBDA),) if function not in (None, site) else ()
                yield Cause(message, function or site, related, severity=Severity.WARNING, advice=_FACTOR)


def _lambda_schedules(case: Case, file: str) -> Iterator[tuple[Site, Site | None]]:
    """Where a file makes a LambdaLR, and the last return of the function, or of the class's __call__, it is given."""
    for call in syntax(case).nodes(file):
        if isinstance(call, ast.Call) and last_name(call.func) == _LAMBDA:
            given = [*call.args[1:2], *(one.value for one in call.keywords if one.arg == "lr_lambda")]
            name = last_name(given[0]) if given else ""
            yield syntax(case).site(file, call.lineno), _returns(case, name) if name else None


def _returns(case: Case, name: str) -> Site | None:
    for file in syntax(case).files:
        nodes = syntax(case).nodes(file)
        made = [one.value for one in nodes if isinstance(one, ast.Assign) and name in map(last_name, one.targets)]
        names = {name, *(last_name(one.func) for one in made if isinstance(one, ast.Call))}
        owners = [one for one in nodes if isinstance(one, (ast.ClassDef, ast.FunctionDef)) and one.name in names]
        inside = [one for owner in owners for one in ast.walk(owner)]
        bodies = [one for one in inside if isinstance(one, ast.FunctionDef) and one.name in (*names, "__call__")]
        lines = [one.lineno for body in bodies for one in ast.walk(body) if isinstance(one, ast.Return)]
        if lines:
            return syntax(case).site(file, max(lines))
    return None


def _times_scheduled(case: Case, optimizer: int) -> int:
    """How often the program stepped a schedule: once more it does so itself, where it is made."""
    calls = [call for timeline in timelines(case) for _, call in timeline.of(SCHEDULE) if call.optimizer == optimizer]
    return sum(call.site == calls[-1].site for call in calls)


def _rates(case: Case) -> dict[int, tuple[int, int, int, float]]:
    """By optimizer: how many groups it has, how many rest at the end, since which step, at most at which rate."""
    told: dict[int, dict[int, list[LearningRate]]] = defaultdict(lambda: defaultdict(list))
    for rate in case.learning_rates():
        if rate.count != AIM:
            told[rate.optimizer][rate.group].append(rate)
    found = {}
    for optimizer, groups in told.items():
        resting = [rest for rates in groups.values() if (rest := _rest(rates)) is not None]
        since, greatest = max((one[0] for one in resting), default=0), max((one[1] for one in resting), default=0.0)
        found[optimizer] = len(groups), len(resting), since, greatest
    return found


def _rest(rates: list[LearningRate]) -> tuple[int, float] | None:
    """Since which step, to the end, a group's rate has been nothing beside its largest, and its largest value then."""
    bound = _NOTHING * max(one.value for one in rates)
    late: list[LearningRate] = []
    for one in reversed(rates):
        if not one.value <= bound:
            break
        late.append(one)
    return (late[-1].count, max(one.value for one in late)) if late else None


def _set_at(case: Case) -> Site | None:
    """The only line of the program that sets the rate of a group."""
    found = list(syntax(case).everywhere(_sets_rate))
    return found[0] if len(found) == 1 else None


def _set_in_each_turn(case: Case) -> Site | None:
    """The line that sets the rate of one and the same group in each turn of a loop that does nothing else."""
    for file in syntax(case).files:
        for loop in syntax(case).nodes(file):
            if isinstance(loop, ast.For) and len(loop.body) == 1 and _sets_rate(loop.body[0]):
                statement = loop.body[0]
                if not names_in(loop.target) & names_in(statement):
                    return syntax(case).site(file, statement.lineno)
    return None


def _sets_rate(node: ast.AST) -> bool:
    """`group["lr"] = ...`, or `*= ...`."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return any(
        isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant) and one.slice.value == "lr"
        for one in targets
    )


def _rate(case: Case, optimizer: int) -> Site | None:
    """The line that gives an optimizer its rate."""
    return setting_line(case, creation(case, optimizer), "lr", 1)


def _factor(case: Case, optimizer: int) -> Site | None:
    """The line that gives a schedule its gamma, where that takes the rate to as good as nothing at once."""
    rates = [one.value for one in case.learning_rates() if (one.optimizer, one.group) == (optimizer, 0)]
    if not any(0 < after < _AT_ONCE * before for before, after in pairwise(rates)):
        return None
    calls = [call for timeline in timelines(case) for _, call in timeline.of(SCHEDULE) if call.optimizer == optimizer]
    return setting_line(case, calls[0].stack, "gamma") if calls else None


def _steps(case: Case, optimizer: int | None) -> int:
    calls = (call for timeline in timelines(case) for _, call in timeline.of(STEP))
    return sum(call.optimizer == optimizer for call in calls)


def _scheduled(case: Case, optimizer: int) -> Site | None:
    """The line that steps the schedule: the last one, since the schedule steps itself once where it is made."""
    calls = [call for timeline in timelines(case) for _, call in timeline.of(SCHEDULE) if call.optimizer == optimizer]
    return calls[-1].site if calls else None
