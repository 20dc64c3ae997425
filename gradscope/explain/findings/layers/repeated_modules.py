"""GS835: one layer under several names, because a list that holds it is multiplied."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.graph_cuts import birth
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.finding import Severity

_CONTAINERS = ("ModuleList", "Sequential")


def repeated_module(case: Case) -> Iterator[Cause]:
    """What it flags: a container of layers that is made of one layer, by multiplying the list in which it is made.

    Why: `[nn.Linear(8, 8)] * 4` is a list of one layer four times, not of four layers. All of them have the same
    weights, there are a quarter of the parameters, and what each was to learn goes into one.

    Wrong:
        self.heads = nn.ModuleList([nn.Linear(64, 1)] * horizons)

    Right:
        self.heads = nn.ModuleList(nn.Linear(64, 1) for _ in range(horizons))

    Do instead: make each layer anew, in a comprehension. Where they are to share weights, give the one a name first.

    How it is found: a parameter was made on such a line. A list that repeats a layer which has a name already says that
    it is meant. Where a loop gives the layer what it gave before, it is a hint: the rounds of a solver share theirs.
    """
    for file in syntax(case).files:
        nodes = syntax(case).nodes(file)
        for layer in (layer for node in nodes for made in _repeated(node) for layer in _alone(made, node, nodes)):
            name = _parameter_of(case, file, layer)
            if name is not None:
                message = f"this is one layer under several names, the list being repeated and not its making: {name} "
                message += "is shared"
                yield Cause(
                    message,
                    syntax(case).site(file, layer.lineno),
                    certain=False,
                    severity=Severity.INFO if _is_called_on_its_own(layer, nodes) else None,
                    tensor=name,
                )


def _is_called_on_its_own(layer: ast.Call, nodes: Iterable[ast.AST]) -> bool:
    """Whether what a layer has given goes into it again, as in rounds of one solver: that may be meant."""
    assigned = (one for one in nodes if isinstance(one, ast.Assign) and layer in ast.walk(one.value))
    held = {ast.unparse(target) for one in assigned for target in one.targets}
    loops = (one for one in nodes if isinstance(one, ast.For) and ast.unparse(one.iter) in held)
    return any(_goes_on(statement, last_name(loop.target)) for loop in loops for statement in loop.body)


def _goes_on(statement: ast.stmt, layer: str) -> bool:
    """Whether a statement is `h = layer(h)`."""
    call = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call) or last_name(call.func) != layer:
        return False
    return bool({ast.unparse(one) for one in statement.targets} & {ast.unparse(one) for one in call.args})


def _repeated(node: ast.AST) -> Iterator[ast.List]:
    """The lists that are multiplied and given to a container."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in _CONTAINERS:
        return
    for given in node.args:
        product = given.value if isinstance(given, ast.Starred) else given
        if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
            for made, times in ((product.left, product.right), (product.right, product.left)):
                if isinstance(made, ast.List) and not (isinstance(times, ast.Constant) and times.value in (0, 1)):
                    yield made


def _alone(made: ast.List, container: ast.AST, nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    """The layers that a list makes, where nothing else on their lines makes any: only the line of each is known."""
    inside, calls = set(ast.walk(made)), [one for one in made.elts if isinstance(one, ast.Call)]
    lines = {line for one in calls for line in _lines(one)}
    others = (one for one in nodes if isinstance(one, ast.Call) and one not in inside and one is not container)
    if not any(one.lineno in lines and last_name(one.func)[:1].isupper() for one in others):
        yield from calls


def _parameter_of(case: Case, file: str, layer: ast.Call) -> str | None:
    """The name of a parameter that was made there."""
    lines = _lines(layer)
    for tensor in dataflow(case).tensors.values():
        stack = birth(case, tensor.number) if tensor.parameter and tensor.leaf else ()
        if any(site.file == file and site.line in lines for site in stack):
            return tensor.leaf
    return None


def _lines(node: ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
