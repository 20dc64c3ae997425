"""What a rule looks at: the Function as it reads, what its trials gave, and which failures are explained already."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradscope.functions.meant import Design
from gradscope.functions.rules.fault import Violation
from gradscope.functions.source import Method
from gradscope.functions.subject import Subject
from gradscope.functions.trials.outcome import SKIPPED, Outcome
from gradscope.model.finding import Severity
from gradscope.model.report import Source, Status
from gradscope.model.site import Site

if TYPE_CHECKING:
    from gradscope.functions.trials.anatomy import Anatomy

LEVELS = ("eager", "func", "compile")
SECOND_ORDER = ("eager_bwd2", "bwd2_engine", "gradgradcheck", "grad_grad", "hessian", "jvp_grad")
VMAPS = (
    "vmap",
    "vmap_lastdim",
    "vmap_mixed",
    "vmap_partial",
    "vmap_vmap",
    "vmap_grad",
    "grad_vmap",
    "grad_vmap_partial",
    "eager_grad_of_vmap",
)
TANGENTS = ("jvp", "jvp_partial", "jacfwd", "hessian", "jvp_grad", "fwad", "gradcheck_fwd")
REVERSE = (
    "eager_bwd",
    "gradcheck",
    "grad",
    "vjp",
    "jacrev",
    "functional_call",
    "vmap_grad",
    "grad_vmap",
    "grad_vmap_partial",
    "eager_grad_of_vmap",
)
FUNC = tuple(dict.fromkeys(("grad", "vjp", "jacrev", "functional_call", "grad_grad", *VMAPS, *TANGENTS[:5])))
WITHOUT_BACKWARD = (
    "eager_fwd",
    "jvp",
    "jvp_partial",
    "jacfwd",
    "fwad",
    "gradcheck_fwd",
    "vmap",
    "vmap_lastdim",
    "vmap_mixed",
    "vmap_partial",
    "vmap_vmap",
    "functionalize",
    "input_mutated",
)
QUALITY = ("needless_grad", "saved_read", "complex", "autocast", "float32")
BASIC = ("eager_fwd", "eager_bwd")
COMPILED = ("compile", "compiled_autograd", "export", "make_fx")


@dataclass
class FunctionCase:
    """One Function before the rules. `explained` grows while the rules run in the table's order, causes first."""

    subject: Subject
    anatomy: Anatomy
    outcomes: dict[str, Outcome]
    level: str = "func"
    asked: bool = True  # the level was asked for; else it is what the class declares
    custom_gradient: bool = False
    source: Source | None = None
    design: Design = Design.NONE
    explained: set[str] = field(default_factory=set)

    @property
    def promises_func(self) -> bool:
        """Whether the author promises that torch.func works."""
        return LEVELS.index(self.level) >= LEVELS.index("func")

    def outcome(self, trial: str) -> Outcome:
        """How a trial ended; skipped when it was not run."""
        return self.outcomes.get(trial, SKIPPED)

    def ran(self, *trials: str) -> bool:
        """Whether one of these trials ran to a verdict."""
        return any(self.outcome(t).status in (Status.OK, Status.WRONG, Status.RAISES) for t in trials)

    def ok(self, trial: str) -> bool:
        """Whether a trial was run and right."""
        return self.outcome(trial).status is Status.OK

    def wrong(self, *trials: str) -> bool:
        """Whether one of these trials gave wrong values."""
        return any(self.outcome(t).status is Status.WRONG for t in trials)

    def fact(self, trial: str, name: str) -> Any:
        """A fact that a trial left behind, or None."""
        return self.outcome(trial).facts.get(name)

    def failing(self, *trials: str) -> tuple[str, ...]:
        """Which of these trials (all, when none is named) failed and are not explained yet."""
        names: Iterable[str] = trials or self.outcomes
        return tuple(n for n in names if self.unexplained(n) and not (trials and self.follows(n)))

    def unexplained(self, trial: str) -> bool:
        """Whether a trial failed and no rule has said why; quality is no matter where the gradient itself is broken."""
        outcome = self.outcome(trial)
        if trial in self.explained or outcome.facts.get("by_design"):
            return False
        wrong = self.gradient_wrong or self.outcome("eager_bwd").status.failed
        broken = wrong and trial in QUALITY and not outcome.facts.get("declared")
        return outcome.status.failed and not broken

    def gives_wrong(self, trial: str) -> bool:
        """Whether a trial ran to its end, gave wrong values, and no rule has said why."""
        return self.unexplained(trial) and self.outcome(trial).status is Status.WRONG

    def follows(self, trial: str) -> bool:
        """Whether a trial only raises what plain forward or backward raises already."""
        outcome = self.outcome(trial)
        return trial not in BASIC and any(
            self.outcome(b).status is Status.RAISES and self.like(self.outcome(b), outcome) for b in BASIC
        )

    def raising(self, *texts: str, trials: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The unexplained trials that raise with one of these texts in the message."""
        return tuple(
            n
            for n in self.failing(*trials)
            if any(t in self.outcome(n).message or t in self.outcome(n).detail for t in texts)
        )

    def same_cause(self, trial: str) -> tuple[str, ...]:
        """All unexplained trials that raise as this one does: at the same line, or with the same first words."""
        first = self.outcome(trial)
        return tuple(n for n in self.failing() if n == trial or self.like(first, self.outcome(n)))

    @staticmethod
    def like(first: Outcome, other: Outcome) -> bool:
        """Whether two failures look like one."""
        if first.status is not other.status or first.error != other.error:
            return False
        return first.site == other.site if first.site else first.message[:60] == other.message[:60]

    def needing_backward(self) -> tuple[str, ...]:
        """The unexplained trials that run backward."""
        return tuple(n for n in self.failing() if n not in WITHOUT_BACKWARD)

    def raised_in(self, method: str, error: str = "", trials: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The unexplained trials whose exception came through a method of the Function."""
        names = self.failing(*trials)
        return tuple(
            n
            for n in names
            if self.outcome(n).status is Status.RAISES
            and self.outcome(n).method == method
            and (not error or self.outcome(n).error == error)
        )

    def method(self, name: str) -> Method | None:
        """A method that the class overrides."""
        return self.subject.method(name)

    def site(self, *methods: str) -> Site | None:
        """The line of the first of these methods that exists, else the class's."""
        found = next((m.site for name in methods if (m := self.method(name)) and m.file), None)
        return found or self.subject.site

    def at(self, method: str, node: ast.AST | None) -> Site | None:
        """The line of a piece of a method's syntax."""
        found = self.method(method)
        return found.at(node) if found and node else self.site(method)

    def raised_at(self, trials: tuple[str, ...], *methods: str) -> Site | None:
        """The user's line where the first of these trials raised, else that of a method."""
        return next((o.site for t in trials if (o := self.outcome(t)).site), None) or self.site(*methods)

    @property
    def backward(self) -> Method | None:
        """backward, or vjp when there is no backward."""
        return self.method("backward") or self.method("vjp")

    @property
    def inputs_refused(self) -> bool:
        """Whether forward raises for inputs that the user gave, by no slip of its own: then they are to blame."""
        outcome = self.outcome("eager_fwd")
        raised = outcome.status is Status.RAISES and outcome.method == "forward"
        return raised and self.source is Source.GIVEN and not self.is_own_slip(outcome)

    def is_own_slip(self, outcome: Outcome) -> bool:
        """Whether no input can be to blame for an exception: a name or an attribute of ctx is not there."""
        missing = outcome.error == "AttributeError" and f"'{self.subject.short_name}Backward'" in outcome.message
        return missing or outcome.error in ("NameError", "UnboundLocalError")

    @property
    def differentiable_outputs(self) -> list[int]:
        """The positions of the outputs that gradcheck compares."""
        floating, marked = ("float", "view", "input"), self.anatomy.nondifferentiable
        return [i for i, kind in enumerate(self.anatomy.outputs) if kind in floating and i not in marked]

    @property
    def gradient_wrong(self) -> bool:
        """Whether the first-order gradient disagrees with numerical differences, and not by design."""
        return not self.custom_gradient and self.wrong("gradcheck", "eager_bwd")

    def second_order_fault(self) -> tuple[str, ...]:
        """The second-order trials that failed and are unexplained, where first order says nothing against them."""
        return self.failing(*SECOND_ORDER)


def hint(message: str, site: Site | None, advice: str = "") -> Violation:
    """A fault that only the source hints at, because nothing could be run: a note."""
    return Violation(message, site, severity=Severity.INFO, certain=False, advice=advice)
