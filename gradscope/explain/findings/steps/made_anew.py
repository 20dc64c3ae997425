"""GS906: an optimizer that is made anew for each pass over the data, and loses what it has averaged."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.epochs_alike import are_epochs_alike
from gradscope.explain.deductions.lines.settings import argument, calls_at
from gradscope.explain.deductions.steps.kept_batches import goes_through_one_list
from gradscope.explain.deductions.steps.passes_over_data import are_passes, draws_anew
from gradscope.explain.deductions.steps.remade_optimizers import Remade, remade_optimizers, remade_since_a_thaw
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, names_in
from gradscope.model.finding import Related
from gradscope.model.site import Site, Stack, user_frames

_AVERAGING = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta")
_COUNTING = ("range", "trange", "count", "tqdm")
_SCALES = (ast.Mult, ast.Div, ast.Pow)
_MOMENTUM = 2  # its place among the arguments of SGD
Loop = ast.For | ast.While


def made_anew(case: Case) -> Iterator[Cause]:
    """What it flags: an optimizer with a state, as Adam or SGD with momentum, that is made anew at the start of each
    pass over the data, over the same parameters.

    Why: the averages of gradients, and the count of steps that corrects them, lie in the optimizer. A new one begins
    at zero: Adam's first steps are as long as the rate for each weight, whatever its gradient, and momentum has to
    gather again.

    Wrong:
        for epoch in range(epochs):
            optimizer = torch.optim.Adam(model.parameters(), lr=rate)
            for batch in batches: ...

    Right:
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        for epoch in range(epochs):
            for batch in batches: ...

    Do instead: make the optimizer once, before the loop.

    How it is found: one line in a loop that counts makes three optimizers or more of one class with a state, each of
    which steps before the next is made. They hold the same parameters at the same learning rates, no others step
    these, and between them nothing is loaded, frozen, scheduled or written to the parameters. Each steps once, or goes
    once through the same data, as the operators of the first steps tell; or through a list of batches that is made
    before the loop, as the source does; or draws new data in each step of an epoch, where nothing but a stage of
    several epochs (`epoch // 4`) tells these apart in the source. Or an `if` is true from some round on, in which more
    begins to be trained: the optimizer that is made there in each round steps where the one before did, and finds
    nothing new but the first time. A schedule may begin again with it, whose rate does not fall by half. A hint.
    """
    for remade in remade_optimizers(case):
        own = user_frames(remade.stack)
        if own and _averages(case, remade, own[0]) and _trains_on(case, remade, own):
            loop = _loop(case, own)
            if loop is not None:
                yield Cause(
                    f"this makes a new {remade.look.name} over the same {len(remade.held)} parameters "
                    f"{len(remade.rounds)} times: what the one before had averaged is lost",
                    own[0],
                    (Related("called_at", loop, "the loop"),),
                    certain=False,
                )
    yield from _since_a_thaw(case)


def _since_a_thaw(case: Case) -> Iterator[Cause]:
    """Optimizers that are made in each round from the one on in which more began to be trained."""
    for remade in remade_since_a_thaw(case):
        own = user_frames(remade.stack)
        loop = _loop(case, own) if own and _averages(case, remade, own[0]) else None
        guard = _guard(case, own) if loop is not None and _thaws(case, own) else None
        if loop is not None and guard is not None:
            yield Cause(
                f"this is so in {len(remade.rounds)} rounds, and each makes a new {remade.look.name} over the same "
                f"{len(remade.held)} parameters: only the first had more to train, and what it averaged is lost",
                guard,
                (Related("declared_at", own[0], "the optimizer"), Related("called_at", loop, "the loop")),
                certain=False,
                advice="make the optimizer, and its schedule, once: in the round in which more begins to be trained",
            )


def _guard(case: Case, own: Stack) -> Site | None:
    """The innermost `if` around the making, in the functions up to the loop around it."""
    for frame in own:
        function, loop = syntax(case).function(frame), syntax(case).loop(frame)
        around = [one for one in ast.walk(function) if isinstance(one, ast.If)] if function is not None else []
        inside = [one.lineno for one in around if one.body[0].lineno <= frame.line <= (one.body[-1].end_lineno or 0)]
        if inside and (loop is None or loop.lineno < inside[-1]):
            return syntax(case).site(frame.file, max(inside), frame.function)
        if loop is not None:
            return None
    return None


def _thaws(case: Case, own: Stack) -> bool:
    """Whether a function on the way to the making, up to the loop, switches gradients of parameters on."""
    for frame in own:
        loop, function = syntax(case).loop(frame), syntax(case).function(frame)
        part = loop if loop is not None else function
        if any(_switches(one) for one in (ast.walk(part) if part is not None else ())):
            return True
        if loop is not None:
            return False
    return False


def _switches(node: ast.AST) -> bool:
    """`body.requires_grad_(True)`, `weight.requires_grad = True`."""
    if isinstance(node, ast.Assign):
        to = node.targets[0]
        return isinstance(to, ast.Attribute) and to.attr == "requires_grad"
    return isinstance(node, ast.Call) and called_name(node) == "requires_grad_"


def _averages(case: Case, remade: Remade, made: Site) -> bool:
    """Whether optimizers keep something from step to step, by their class and what they are made with."""
    if remade.look.name in _AVERAGING:
        return True
    calls = [one for one in calls_at(case, made) if called_name(one) == "SGD"]
    momentum = argument(calls[0], "momentum", _MOMENTUM) if len(calls) == 1 else None
    return momentum is not None and not (isinstance(momentum, ast.Constant) and not momentum.value)


def _trains_on(case: Case, remade: Remade, own: Stack) -> bool:
    """Whether each optimizer steps once, or all go through the same data once each, or through new data alike."""
    if all(one.steps == 1 for one in remade.rounds) or are_passes(case, remade.rounds):
        return True
    alike = len({(one.steps, len(one.backwards)) for one in remade.rounds}) == 1
    if not alike or goes_through_one_list(case, own):
        return alike
    first = remade.rounds[0]
    return are_epochs_alike(case, first.optimizer, own) and draws_anew(case, first)


def _loop(case: Case, own: Stack) -> Site | None:
    """The head of the innermost loop around the making, if it counts and what runs in it is the same each time."""
    inside: list[ast.AST] = []
    for frame in own:
        loop = syntax(case).loop(frame)
        function = syntax(case).function(frame)
        if loop is not None:
            inside += loop.body
            counts = isinstance(loop, ast.While) or _counts(loop.iter)
            return syntax(case).site(frame.file, loop.lineno) if counts and not _varies(loop, inside) else None
        inside += [function] if function is not None else []
    return None


def _counts(over: ast.expr) -> bool:
    """`range(n)`, `trange(n)`, `tqdm(range(n))`: not a list of things, each of which may be another training."""
    if not isinstance(over, ast.Call) or called_name(over) not in _COUNTING:
        return False
    return called_name(over) != "tqdm" or bool(over.args and _counts(over.args[0]))


def _varies(loop: Loop, inside: list[ast.AST]) -> bool:
    """Whether a number grows by a factor from round to round, or the count chooses or scales something."""
    count = names_in(loop.target) if isinstance(loop, ast.For) else set()
    for one in _walk(inside):
        if isinstance(one, ast.AugAssign) and isinstance(one.op, _SCALES):
            return True
        scaled = isinstance(one, ast.BinOp) and isinstance(one.op, _SCALES)
        used = one if scaled else one.slice if isinstance(one, ast.Subscript) else None
        if count & names_in(used):
            return True
    return False


def _walk(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """All that stands in some statements, but for what is only shown."""
    waiting = list(nodes)
    while waiting:
        one = waiting.pop()
        if not isinstance(one, ast.JoinedStr) and not (isinstance(one, ast.Call) and called_name(one) == "print"):
            yield one
            waiting += ast.iter_child_nodes(one)
