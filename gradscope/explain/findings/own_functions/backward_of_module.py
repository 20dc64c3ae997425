"""GS908: a module with a method `backward`, as custom Functions have one, which autograd never calls."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import Syntax, syntax
from gradscope.functions.source import called_name, last_name, names_in
from gradscope.model.operation import base_name
from gradscope.model.site import Stack
from gradscope.store.asked import kept

_OF_TENSORS = {"retain_graph", "create_graph", "inputs"}  # what the backward of a loss is given
_OTHER_WAYS = {"apply", "register_hook", "grad", "step", "backward", "register_full_backward_hook"}
_HOOKS = ("tensor", "module_backward", "module_backward_pre")
_HANDS_ON = {"view", "alias", "clone", "detach", "_to_copy", "_unsafe_view", "expand"}
_CHANGES = {"neg", "negative", "mul", "multiply", "div", "clamp", "clip", "sign", "clamp_", "neg_", "mul_", "div_"}
_FLAT = {"sign", "sgn", "round", "floor", "ceil", "trunc", "heaviside", "bernoulli", "gt", "ge", "lt", "le", "eq"}


@dataclass(frozen=True, slots=True)
class _Declared:
    """A class of modules that has such a method, in its file."""

    file: str
    owner: ast.ClassDef
    forward: ast.FunctionDef
    backward: ast.FunctionDef


def backward_of_module(case: Case) -> Iterator[Cause]:
    """A method `backward` of a module, which autograd never calls.

    What it flags: a class of modules has beside its forward a method `backward` that takes a gradient and returns one,
        and the program calls it nowhere.
    Why: autograd differentiates what ran in forward(). Only a torch.autograd.Function brings a backward of its own; the
        method of a module is a method like any other. A gradient that was to be reversed, limited or handed straight
        through is not.
    Wrong:
        class Reverse(nn.Module):
            def forward(self, x):
                return x.view_as(x)
            def backward(self, gradient):
                return -gradient
    Right:
        class Reverse(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view_as(x)
            @staticmethod
            def backward(ctx, gradient):
                return -gradient
    Do instead: write a torch.autograd.Function with static methods forward(ctx, ...) and backward(ctx, ...), and call
        its apply() in the module's forward.
    How it is found: in the source, a class of torch's modules has both methods, returns something from the second, and
        nothing there could call it: no `.backward` is given a gradient or handed on, and none of its lines ran. The
        module ran, and either hands its input on in any case, while the method changes the gradient, or it gives what
        has no derivative, as a sign. No hook of a tensor or a module is there, which could do the same. Of others
        nothing is said: what autograd derives may be what the method would give.
    """
    is_hooked = any(hook.kind in _HOOKS for hook in case.hooks())
    found = list(_declared(case)) if case.backwards() and not is_hooked else []
    if not found or _may_be_called(case) or any(_ran(case, one) for one in found):
        return
    operators = _operators(case, frozenset(one.owner.name for one in found))
    for one in found:
        name = one.owner.name
        is_met = name in operators or (_hands_on(one.forward) and _is_passed(case, name))
        if is_met and _differs(one, operators.get(name, set())):
            yield Cause(
                f"{name} is a module: autograd never calls its method backward, and derives what ran in its forward "
                "instead",
                source_lines.line(case, one.file, one.backward.lineno, "backward"),
                certain=False,
                module=name,
            )


def _differs(one: _Declared, operators: set[str]) -> bool:
    """Whether autograd derives something else than the method gives."""
    branches = any(isinstance(node, (ast.If, ast.IfExp)) for node in ast.walk(one.forward))
    flat = operators & _FLAT and operators <= _FLAT | _HANDS_ON
    return bool(flat) or (not branches and operators <= _HANDS_ON and _changes(one.backward))


def _changes(method: ast.FunctionDef) -> bool:
    """Whether what a method returns is computed, and not only handed on in another shape."""
    given: dict[str, list[ast.expr]] = defaultdict(list)
    waiting: list[ast.expr] = []
    for one in ast.walk(method):
        if isinstance(one, ast.Return) and one.value is not None:
            waiting.append(one.value)
        elif isinstance(one, ast.Assign):
            for target in one.targets:
                given[last_name(target)].append(one.value)
    while waiting:
        value = waiting.pop()
        if isinstance(value, ast.BinOp) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub)):
            return True
        if isinstance(value, ast.Call) and called_name(value) in _CHANGES:
            return True
        if isinstance(value, ast.Name):
            waiting += given.pop(value.id, ())
        elif isinstance(value, ast.Tuple):
            waiting += value.elts
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            waiting.append(value.func.value)
    return False


def _declared(case: Case) -> Iterator[_Declared]:
    """The classes of modules with such a method; none of a name that several classes have."""
    classes = [(file, node) for file in syntax(case).files for node in syntax(case).nodes(file)]
    owners = [(file, node) for file, node in classes if isinstance(node, ast.ClassDef)]
    count, modules = Counter(node.name for _, node in owners), _modules([node for _, node in owners])
    for file, owner in owners:
        forward, backward = source_lines.method(owner, "forward"), source_lines.method(owner, "backward")
        if owner.name not in modules or count[owner.name] > 1 or forward is None or backward is None:
            continue
        if _takes_a_gradient(backward) and not _goes_another_way(owner):
            yield _Declared(file, owner, forward, backward)


def _modules(owners: list[ast.ClassDef]) -> set[str]:
    """The names of the classes all of whose bases are torch's modules or such classes."""
    known = set[str]()
    while True:
        new = {one.name for one in owners if one.bases and all(_is_module(base, known) for base in one.bases)}
        if new <= known:
            return known
        known |= new


def _is_module(base: ast.expr, known: set[str]) -> bool:
    name = ast.unparse(base)
    return name == "Module" or name.startswith(("nn.", "torch.nn.")) or name in known


def _takes_a_gradient(method: ast.FunctionDef) -> bool:
    """Whether a method must be given something, which is no loss, reads it and returns something."""
    arguments = method.args.args
    required = [one.arg for one in arguments[1 : len(arguments) - len(method.args.defaults)]]
    returns = any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(method))
    reads = not names_in(*method.body).isdisjoint(required)
    return returns and reads and not method.decorator_list and not any("loss" in name.lower() for name in required)


def _goes_another_way(owner: ast.ClassDef) -> bool:
    """Whether a class applies a Function, places hooks, or asks for gradients and steps by itself."""
    calls = (node for node in ast.walk(owner) if isinstance(node, ast.Call))
    return any(called_name(one) in _OTHER_WAYS for one in calls)


def _may_be_called(case: Case) -> bool:
    """Whether the program calls a `backward` with what may be a gradient, hands one on, or names it in a text."""
    return any(_calls_one(syntax(case), file) for file in syntax(case).files)


def _ran(case: Case, one: _Declared) -> bool:
    """Whether operators ran in the method all the same."""
    last = one.backward.end_lineno or one.backward.lineno
    lines = (site.line for stack in _stacks(case) for site in stack if site.file == one.file)
    return any(one.backward.lineno < line <= last for line in lines)


def _calls_one(source: Syntax, file: str) -> bool:
    called = {id(node.func) for node in source.nodes(file) if isinstance(node, ast.Call) and not _is_given(node)}
    for node in source.nodes(file):
        if isinstance(node, ast.Attribute) and node.attr == "backward" and id(node) not in called:
            return True
        if isinstance(node, ast.Constant) and node.value == "backward":
            return True
    return False


def _is_given(call: ast.Call) -> bool:
    """Whether a call gives a `backward` something that a module's method could take."""
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = last_name(receiver) if receiver is not None else ""
    if name == "autograd" or "loss" in name.lower():
        return False
    return bool(call.args) or any(one.arg not in _OF_TENSORS for one in call.keywords)


@kept
def _stacks(case: Case) -> tuple[Stack, ...]:
    """The stacks under which operators ran, each once."""
    return tuple({id(one.stack): one.stack for one in case.operators()}.values())


def _operators(case: Case, names: frozenset[str]) -> dict[str, set[str]]:
    """The operators that ran in the forward of modules of these classes, and in what they call."""
    found: dict[str, set[str]] = {}
    for operation in case.operators():
        for call in operation.module.chain if operation.module is not None and operation.node is None else ():
            if call.module_class in names:
                found.setdefault(call.module_class, set()).add(base_name(operation.name))
    return found


def _hands_on(forward: ast.FunctionDef) -> bool:
    """Whether a forward returns an argument as it is, which leaves no operator."""
    arguments = {one.arg for one in forward.args.args[1:]}
    returns = [node.value for node in ast.walk(forward) if isinstance(node, ast.Return)]
    return bool(returns) and all(isinstance(one, ast.Name) and one.id in arguments for one in returns)


def _is_passed(case: Case, name: str) -> bool:
    """Whether a line ran that calls what a class was assigned to: operators ran there, or further down beside it."""
    lines = {(site.file, site.line) for stack in _stacks(case) for site in stack}
    for file in syntax(case).files:
        parsed, targets = syntax(case).parsed(file), _instances(syntax(case), file, name)
        for node in parsed.nodes if targets else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in targets:
                statement, function = parsed.whole_statements.get(node.lineno), parsed.functions.get(node.lineno)
                if statement is None or not isinstance(function, ast.FunctionDef):
                    continue
                last = function.end_lineno if statement in function.body else statement.end_lineno
                if any((file, line) in lines for line in range(statement.lineno, (last or node.lineno) + 1)):
                    return True
    return False


def _instances(source: Syntax, file: str, name: str) -> set[str]:
    """What is assigned an object of a class, as it is written: `self.reverse`."""
    assigns = (node for node in source.nodes(file) if isinstance(node, ast.Assign))
    made = (one for one in assigns if isinstance(one.value, ast.Call) and called_name(one.value) == name)
    return {ast.unparse(target) for one in made for target in one.targets}
