"""How a training goes, step by step: a row for each backward call of the program, or a curve for each quantity."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from gradscope.model.graph import Backward
from gradscope.model.table import Column, Row, Table, Unit
from gradscope.model.training import STEP, ZERO_GRAD, LearningRate
from gradscope.store.facts import Facts

_COLUMNS = (
    Column("step", Unit.COUNT, "outermost backward calls, from 0"),
    Column("backward", Unit.COUNT, "the call's number"),
    Column("line", Unit.PLACE, "the line that called it"),
    Column("nodes", Unit.COUNT, "in its graph"),
    Column("loss", Unit.NUMBER, "its root's value, where that is one number"),
    Column("gradient norm", Unit.NUMBER, "of all leaves, after the calls 0, 1, 2, 4, 8, ..."),
    Column("stepped", help="the optimizers that stepped before the next backward"),
    Column("updated", Unit.SHARE, "elements that these steps changed, of those that were looked at"),
    Column("lr", Unit.NUMBER, "the greatest learning rate of these optimizers' groups"),
    Column("scale", Unit.NUMBER, "of a GradScaler that stepped"),
    Column("cleared", help="gradients that zero_grad() found, of how many parameters"),
    Column("findings", help="what `gradscope explain` says of this backward"),
)
_CURVES = ("loss", "gradient norm", "updated", "lr", "scale", "nodes")
_SPARSE = "gradient norm and updated are known for some of the steps only, which are looked at"


Step = tuple[int, int]  # an optimizer, and how often it had stepped before


@dataclass(slots=True)
class _After:
    """What happened from one backward to the next."""

    steps: list[Step] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)


def by_step(facts: Facts, findings: Mapping[int, Iterable[str]]) -> Table:
    """A row for each outermost backward. `findings`: codes by the number of a backward."""
    run = _Run(facts)
    calls = (call for call in facts.backwards() if call.kind == "backward" and call.nested_in is None)
    rows = [(*run.row(call), " ".join(sorted(set(findings.get(call.number, ())))) or None) for call in calls]
    return Table("steps", _COLUMNS, tuple(rows), (_SPARSE,) if rows else ())


def by_quantity(table: Table, losses: Mapping[int, float]) -> Table:
    """The same as curves over the steps, a row for each quantity that has more than one value.

    Between the steps in which one is known, the curve is a straight line. `losses` by backward: they may be NaN.
    """
    curve = "loss, gradient norm, share of elements updated, lr, scale and nodes by step"
    columns = (
        Column("quantity"),
        Column("values", Unit.COUNT, "how many are known"),
        Column("curve", Unit.CURVE, curve),
    )
    rows: list[Row] = []
    for name in _CURVES:
        values = [_value(table, row, name, losses) for row in table.rows]
        known = sum(value is not None for value in values)
        if known > 1:
            rows.append((name, known, " ".join(map(str, _joined(values)))))
    return Table("quantities", columns, tuple(rows))


class _Run:
    """What is told of the steps of one run, by the number of a backward or by an optimizer's step."""

    def __init__(self, facts: Facts) -> None:
        self._nodes, self._losses, self._scales = facts.graph_sizes(), facts.losses(), facts.scales()
        self._names = _names(facts)
        self._after = _after(facts)
        self._norms = _norms(facts)
        self._updates: dict[Step, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for one in facts.updates():
            changed, elements = self._updates[one.optimizer, one.count]
            self._updates[one.optimizer, one.count] = changed + one.changed, elements + one.elements
        self._rates = _rates(facts, {step for after in self._after.values() for step in after.steps})

    def row(self, call: Backward) -> Row:
        """All but the findings."""
        after = self._after.get(call.number, _After())
        stepped = [self._names.get(optimizer, f"optimizer {optimizer}") for optimizer, _ in after.steps]
        changed = [self._updates[step] for step in after.steps if step in self._updates]
        elements = sum(count for _, count in changed)
        return (
            call.step,
            call.number,
            None if call.site is None else str(call.site),
            self._nodes.get(call.number),
            _finite(self._losses.get(call.number)),
            self._norms.get(call.number),
            " ".join(stepped) or None,
            sum(count for count, _ in changed) / elements if elements else None,
            max((self._rates[step] for step in after.steps if step in self._rates), default=None),
            _finite(self._scales.get(call.number)),
            " ".join(after.cleared) or None,
        )


def course(facts: Facts) -> tuple[tuple[int, float | None, float | None], ...]:
    """Number, loss and gradient norm of every outermost backward; a loss may be NaN."""
    losses, norms = facts.losses(), _norms(facts)
    calls = (call.number for call in facts.backwards() if call.kind == "backward" and call.nested_in is None)
    return tuple((number, losses.get(number), norms.get(number)) for number in calls)


def updated(facts: Facts, backward: int) -> tuple[tuple[str, float], ...]:
    """By parameter, the share of its elements that the last step which was looked at by then has changed."""
    numbers = [call.number for call in facts.backwards() if call.number <= backward]
    after = _after(facts)
    taken = {step for number in numbers if number in after for step in after[number].steps}
    found: dict[str, float] = {}
    for one in sorted(facts.updates(), key=lambda update: update.count):
        if (one.optimizer, one.count) in taken and one.elements:
            found[one.parameter] = one.changed / one.elements
    return tuple(found.items())


def _after(facts: Facts) -> dict[int, _After]:
    """By backward: what its thread did until the next one."""
    found: dict[int, _After] = defaultdict(_After)
    last: dict[int, int] = {}
    before = facts.run().optimizer_steps_before
    counts: dict[int, int] = defaultdict(int, {int(name): count for name, count in before.items() if name.isdecimal()})
    for interval in facts.intervals():
        after = found[last.get(interval.thread, -1)]
        for one in interval.calls:
            if one.kind is STEP and one.optimizer is not None:
                after.steps.append((one.optimizer, counts[one.optimizer]))
                counts[one.optimizer] += 1
            elif one.kind is ZERO_GRAD:
                after.cleared.append(f"{one.count}/{one.total}")
        if interval.backward is not None:
            last[interval.thread] = interval.backward
    return found


def _norms(facts: Facts) -> dict[int, float]:
    squares: dict[int, float] = defaultdict(float)
    for size in facts.sizes():
        squares[size.backward] += size.gradient**2
    return {backward: math.sqrt(total) for backward, total in squares.items() if math.isfinite(total)}


def _names(facts: Facts) -> dict[int, str]:
    """What optimizers are called: by their class, numbered where there are several."""
    classes = {look.optimizer: look.name for look in facts.optimizer_looks()}
    return {number: name if len(classes) == 1 else f"{name}#{number}" for number, name in classes.items()}


def _rates(facts: Facts, steps: Iterable[Step]) -> dict[Step, float]:
    """The greatest learning rate of the groups at each of these steps."""
    changes: dict[int, list[LearningRate]] = defaultdict(list)
    for one in facts.learning_rates():
        changes[one.optimizer].append(one)
    found: dict[Step, float] = {}
    now: dict[int, dict[int, float]] = defaultdict(dict)
    for optimizer, count in sorted(steps):
        waiting = changes[optimizer]
        while waiting and waiting[0].count <= count:
            change = waiting.pop(0)
            now[optimizer][change.group] = change.value
        known = [rate for rate in now[optimizer].values() if math.isfinite(rate)]
        if known:
            found[optimizer, count] = max(known)
    return found


def _value(table: Table, row: Row, name: str, losses: Mapping[int, float]) -> float | None:
    found = row[table.names.index(name)]
    backward = row[table.names.index("backward")]
    if name == "loss" and isinstance(backward, int):
        found = losses.get(backward)
    return float(found) if isinstance(found, float | int) else None


def _joined(values: list[float | None]) -> list[float]:
    """The values with straight lines where none is known."""
    known = [(at, value) for at, value in enumerate(values) if value is not None]
    found = [known[0][1]] * len(values)
    for (first, low), (last, high) in pairwise(known):
        for at in range(first, last + 1):
            found[at] = (
                low if at == first else high if at == last else low + (high - low) * (at - first) / (last - first)
            )
    last, value = known[-1]
    found[last:] = [value] * (len(values) - last)
    return found


def _finite(value: float | None) -> float | None:
    """What JSON can carry."""
    return value if value is not None and math.isfinite(value) else None
