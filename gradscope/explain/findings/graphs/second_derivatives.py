"""GS772, GS773, GS776: derivatives of derivatives."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.constant_derivatives import constant_derivatives
from gradscope.explain.deductions.lines.graph_cuts import CONSTANT
from gradscope.explain.deductions.lines.module_builds import chosen_at
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_names import carries, followed, function_at, targets
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.findings.cuts.missing_gradient import missing
from gradscope.functions.source import names_in
from gradscope.model.finding import Related, Severity
from gradscope.model.graph import Backward, FunctionClass, Graph, Node
from gradscope.model.operation import Block
from gradscope.model.site import Origin, Site, user_frames
from gradscope.store.asked import kept

NO_GRAPH = "element 0 of tensors does not require grad"
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"
ONCE = "once_differentiable"
STRAIGHT = ("Relu", "LeakyRelu", "Threshold", "Hardtanh", "Abs", "Clamp", "MaxPool", "Max", "Min", "Prelu",
            "RreluWithNoise", "Hardsigmoid", "Sign", "Maximum", "Minimum")  # fmt: skip
_FAR = 3  # backward calls between the first derivative and the one that needs its graph


def missing_create_graph(case: Case) -> Iterator[Cause]:
    """What it flags: a derivative was taken without create_graph=True, and is then differentiated, or added to a loss.

    Why: autograd.grad and backward give plain numbers unless they are asked to build the graph of what they compute. To
    differentiate the result raises "does not require grad"; a penalty made of it raises nothing, and has no effect.

    Wrong:
        (gradient,) = torch.autograd.grad(critic(x).sum(), x)
        loss = loss + 10 * (gradient.norm() - 1) ** 2

    Right:
        (gradient,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        loss = loss + 10 * (gradient.norm() - 1) ** 2

    Do instead: give create_graph=True to the call whose result is differentiated; retain_graph alone keeps the old
    graph and builds none of the derivative.

    How it is found: a backward that found nothing to differentiate, and before it a grad call without create_graph
    whose result goes there, by the names in your source. Where nothing is raised, the source alone shows that the
    result is added to what backward() is called on.
    """
    ways = [*_refused(case), *missing(case, CONSTANT), *_without_effect(case)]
    for site, said in _by_line(ways).items():
        first = said[0]
        if site is not None:  # what one way only takes for likely, another may know
            fails, certain = any(one.fails for one in said), any(one.certain for one in said)
            first = replace(first, fails=fails, certain=certain)
        yield from [first] if site is not None else said


def _by_line(causes: list[Cause]) -> dict[tuple[str, int] | None, list[Cause]]:
    """What several ways found, by the line to edit: one line is told once."""
    found: dict[tuple[str, int] | None, list[Cause]] = defaultdict(list)
    for one in causes:
        found[None if one.site is None else (one.site.file, one.site.line)].append(one)
    return found


def _refused(case: Case) -> Iterator[Cause]:
    """Derivatives that another backward was to differentiate, which found no graph."""
    for call in case.failed():
        if NO_GRAPH in (call.exception or ""):
            for first in _before(case, call):
                sure = _goes_to(case, first, call)
                if sure is not None and not first.create_graph and first.site is not None:
                    told = "this derivative was taken without create_graph=True, so it has no graph to differentiate"
                    yield Cause(
                        f"{told} in backward {call.number}",
                        first.site,
                        (Related("second_backward_at", call.site),),
                        fails=any(failure.backward == call.number for failure in case.failures()),
                        certain=sure,
                        backward=call.number,
                    )
                    break


def _without_effect(case: Case) -> Iterator[Cause]:
    """Derivatives that became part of a loss as constants, each line once: by the dataflow, else by the source."""
    by_flow = {call.site: loss.site for call, loss in constant_derivatives(case)}
    plain = (call for call in case.backwards() if call.kind == "grad" and not call.create_graph)
    firsts: dict[Site, Backward] = {}
    for call in plain:
        if call.site is not None:
            firsts.setdefault(call.site, call)
    for site, call in firsts.items():
        ends = by_flow.get(site) or (None if call.exception else _added(case, call))
        if ends is not None and _reaches_what_learns(case, call):
            told = "this derivative becomes part of the loss, but it was taken without create_graph=True"
            yield Cause(
                f"{told}: it is a constant there, and has no effect on any gradient",
                site,
                (Related("second_backward_at", ends),),
                certain=False,
                severity=Severity.WARNING,
                backward=call.number,
            )


def _reaches_what_learns(case: Case, call: Backward) -> bool:
    """Whether what is differentiated was computed from a parameter: of data alone a derivative is data, too."""
    held = {one.name for look in case.optimizer_looks() for one in look.parameters}
    nodes = case.graph(call.number).nodes if call.number in case.graph_sizes() else ()
    return not held or not nodes or any(node.leaf in held for node in nodes)


def zero_second_derivative(case: Case) -> Iterator[Cause]:
    """What it flags: a second derivative that is zero whatever the numbers are.

    Why: ReLU, LeakyReLU, hardtanh, abs, clamp and max are straight between their kinks: a network of linear layers and
    these is straight too, and its second derivative with respect to its input is zero everywhere. A penalty or a
    residual made of it teaches nothing.

    Wrong:
        u = last(torch.relu(first(t)))          # u'' is zero

    Right:
        u = last(torch.tanh(first(t)))

    Do instead: use a smooth activation (tanh, softplus, silu, gelu) where second derivatives matter.

    How it is found: in the graph of the second derivative, no path leads from the result to any of the inputs except
    through the derivative of a kink, which is zero.
    """
    said: set[object] = set()
    like, flat = case.like(), dict[object, bool]()
    for call in case.backwards():
        alike = (like.get(call.number, call.number), id(call.roots), id(call.inputs))  # one object where they are equal
        if flat.get(alike) is False and call.exception is None:
            continue  # as nearly all: a loop has thousands of calls and few graphs
        first = next(iter(_before(case, call)), None)
        if first is None or not first.create_graph or _once(case, first):
            continue
        if call.inputs and _has_graph(call) and alike not in flat:
            flat[alike] = _is_flat(case.graph(call.number))
        off = _ran_without_graph(case, call) or syntax(case).inference_mode(call.stack) is not None
        refused = NO_GRAPH in (call.exception or "") and not off
        if (refused and _goes_to(case, first, call) is not None) or flat.get(alike):
            graph = case.graph(first.number)
        else:
            continue
        bend = _kink(graph)
        site, called = (call.site, ()) if bend is None else chosen_at(case, bend)
        if site in said:
            continue
        said.add(site)
        fails = any(failure.backward == call.number for failure in case.failures())
        what = f"{bend.name} is straight between its kinks" if bend is not None else "what is differentiated is linear"
        yield Cause(
            f"the second derivative taken in backward {call.number} is zero whatever the numbers are: {what}",
            site,
            (*called, Related("second_backward_at", call.site)),
            fails=fails,
            severity=Severity.ERROR if fails else Severity.WARNING,
            node=None if bend is None else bend.id,
            module=None if bend is None or bend.module is None else bend.module.label,
            backward=call.number,
        )


def once_differentiable(case: Case) -> Iterator[Cause]:
    """What it flags: the second derivative of a custom Function whose backward is marked @once_differentiable.

    Why: the mark says that backward does things which autograd cannot follow. A second derivative through it raises;
    where the gradient that comes in needs no derivative itself, what comes out counts as a constant, and the second
    derivative is silently zero.

    Wrong:
        @staticmethod
        @once_differentiable
        def backward(ctx, gradient): ...

    Right:
        @staticmethod
        def backward(ctx, gradient): ...        # of differentiable operators only

    Do instead: write backward with differentiable operators on saved tensors and take the mark away, or give it a
    Function of its own; where no second derivative is meant, leave create_graph out.

    How it is found: a derivative was taken with create_graph=True through a Function whose backward carries the mark
    in its source. Where the backward that follows raised, that is explained.
    """
    if not _marks(case):
        return
    said: set[Site] = set()
    raising = [call for call in case.failed() if TWICE in (call.exception or "") or NO_GRAPH in (call.exception or "")]
    silent = [call for call in case.backwards() if call.create_graph and _has_graph(call) and call.exception is None]
    for call in (*raising, *_first_alike(case, silent)):
        through = (*_before(case, call), *([call] if _has_graph(call) else [])) if call in raising else (call,)
        node, site = next((found for found in (_once(case, one) for one in through) if found), (None, None))
        if node is None or site is None or site in said:
            continue
        said.add(site)
        name = node.function.name if node.function is not None else node.name
        told = "raised" if call in raising else "raises, or is silently zero"
        yield Cause(
            f"backward of {name} is marked once_differentiable: the second derivative through it {told}",
            site,
            (Related("second_backward_at", call.site), Related("saved_at", node.site, node.name)),
            fails=any(failure.backward == call.number for failure in case.failures()),
            severity=Severity.ERROR if call in raising else Severity.WARNING,
            node=node.id,
            backward=call.number,
            function=name,
        )


def _before(case: Case, call: Backward) -> Iterator[Backward]:
    """The derivatives taken shortly before a call, the latest first."""
    calls = case.backwards_by_number()
    for number in range(call.number - 1, call.number - _FAR - 1, -1):
        one = calls.get(number)
        if (
            one is not None
            and one.kind == "grad"
            and one.exception is None
            and one.thread == call.thread
            and _has_graph(one)
        ):
            yield one


def _first_alike(case: Case, calls: list[Backward]) -> list[Backward]:
    """The first of all calls with the same graph: a training loop has thousands of calls and few graphs."""
    firsts: dict[int, Backward] = {}
    for call in calls:
        firsts.setdefault(case.like().get(call.number, call.number), call)
    return list(firsts.values())


def _has_graph(call: Backward) -> bool:
    return any(root.node is not None for root in call.roots)


def _goes_to(case: Case, first: Backward, call: Backward) -> bool | None:
    """Whether the result of one call is what another differentiates: True by the names, False maybe, None no."""
    if first.site is None or call.site is None:
        return None
    if (first.site.file, first.site.line) == (call.site.file, call.site.line):
        return True  # a derivative of a derivative, by the same line
    start, end = function_at(case, first.site), function_at(case, call.site)
    if start is None or end is None:
        return False if first.site.file == call.site.file else None
    if isinstance(start[1], ast.Return) or start[0] is not end[0]:
        return False
    known = followed(start[0], targets(start[1]))
    return True if not known.isdisjoint(names_in(end[1])) else None


def _ran_without_graph(case: Case, call: Backward) -> bool:
    """Whether gradients were off when the last operator before a call ran: that is why what it starts from has none."""
    blocks = _forwards(case).get(call.thread, [])
    before = bisect_right(blocks, call.started, key=attrgetter("started"))
    return before > 0 and bool(blocks[before - 1].operations) and not blocks[before - 1].operations[-1].grad


@kept
def _forwards(case: Case) -> dict[int, list[Block]]:
    """What ran between the backward calls of each thread, in order."""
    found: dict[int, list[Block]] = defaultdict(list)
    for block in case.blocks():
        if block.backward is None:
            found[block.thread].append(block)
    return {thread: sorted(blocks, key=attrgetter("started")) for thread, blocks in found.items()}


def _added(case: Case, call: Backward) -> Site | None:
    """The backward() whose loss the result of a grad call is added to, by the source."""
    frames = user_frames(call.stack)
    for depth, site in enumerate(frames):
        place = function_at(case, site)
        if place is None:
            return None
        scope, statement = place
        known = followed(scope, targets(statement))
        if any(_divides(one, known) for one in ast.walk(scope)) or _steps(scope, statement, known):
            return None  # a weight or a step, not a penalty
        for one in ast.walk(scope):
            if (
                isinstance(one, ast.Call)
                and isinstance(one.func, ast.Attribute)
                and one.func.attr == "backward"
                and carries(one.func.value, known)
            ):
                return source_lines.line(case, site.file, one.lineno, site.function)
        returned = isinstance(statement, ast.Return) or any(
            isinstance(one, ast.Return) and carries(one.value, known) for one in ast.walk(scope)
        )
        if not returned or depth + 1 == len(frames) or not _reduces(scope, known | {""}, statement):
            return None
    return None


def _divides(one: ast.AST, names: set[str]) -> bool:
    return isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div) and carries(one, names)


def _steps(scope: ast.AST, statement: ast.stmt, known: set[str]) -> bool:
    """Whether what it is by moves by the derivative: a step, which first-order methods hold constant on purpose."""
    calls = [one for one in ast.walk(statement) if isinstance(one, ast.Call)]
    given = names_in(*(each for one in calls for each in (*one.args[1:], *one.keywords)))
    pairs = [one for one in ast.walk(scope) if isinstance(one, (ast.comprehension, ast.For))]
    given |= {name for one in pairs if not given.isdisjoint(names_in(one.iter)) for name in names_in(one.target)}
    return any(
        isinstance(one, ast.BinOp)
        and isinstance(one.op, ast.Sub)
        and isinstance(one.left, (ast.Name, ast.Attribute, ast.Subscript))
        and not given.isdisjoint(names_in(one.left))
        and not (known | given).isdisjoint(names_in(one.right))
        for one in ast.walk(scope)
    )


def _reduces(scope: ast.AST, names: set[str], statement: ast.stmt) -> bool:
    """Whether a function returns a number made of the derivative (a penalty), rather than the derivative itself."""
    if isinstance(statement, ast.Return):
        return True  # looked at further out
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in ("norm", "square", "pow", "mean", "sum", "vector_norm")
        and carries(one, names)
        for one in ast.walk(scope)
    )


def _is_flat(graph: Graph) -> bool:
    """Whether a derivative's graph leads to the inputs asked for only through the derivative of a kink."""
    inputs = graph.backward.inputs or ()
    if not any(node.parent is not None for node in graph.nodes):
        return False
    onward: dict[int, list[int]] = {}
    for edge in graph.edges:
        if not (edge.output > 0 and _is_kink(graph.nodes[edge.source], "BackwardBackward")):
            onward.setdefault(edge.source, []).append(edge.target)
    reached, front = set(graph.roots), list(graph.roots)
    while front:
        for target in onward.get(front.pop(), ()):
            if target not in reached:
                reached.add(target)
                front.append(target)
    return not any(one.node in reached for one in inputs)


def _is_kink(node: Node, ending: str = "Backward") -> bool:
    return any(node.name.startswith(f"{kind}{ending}") for kind in STRAIGHT)


def _kink(graph: Graph) -> Node | None:
    """The node of the first kink in a graph, from the loss."""
    return next((node for node in graph.nodes if _is_kink(node) and node.parent is None), None)


def _once(case: Case, call: Backward) -> tuple[Node, Site] | None:
    """A Function in a call's graph whose backward is marked once_differentiable, with the line of the mark."""
    marks = _marks(case)
    for node in case.graph(call.number).nodes if marks else ():  # most runs have none, and thousands of graphs
        if node.function in marks:
            return node, marks[node.function]
    return None


@kept
def _marks(case: Case) -> dict[FunctionClass | None, Site]:
    """The program's own Functions whose backward is marked once_differentiable, with the line of the mark."""
    found = ((function, _mark(case, function.class_site)) for function in case.functions())
    return {function: mark for function, mark in found if mark is not None}


def _mark(case: Case, site: Site | None) -> Site | None:
    """The line of the mark in the class of a Function."""
    if site is None or site.origin is not Origin.USER:
        return None
    lines = syntax(case).parsed(site.file).lines
    for number in range(site.line, len(lines)):
        text = lines[number].strip()
        if text.startswith("class "):
            break
        if text.startswith("@") and ONCE in text:
            return Site(site.file, number + 1, site.function, text)
    return None
