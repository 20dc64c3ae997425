"""GS909: a hook that puts something in the place of a parameter's gradient which is computed without it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.hook_calls import (
    HookCall,
    followed_hook_calls,
    inside_hook,
    parameters_by_leaf,
    tensors_by_number,
)
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.words import several
from gradscope.functions.source import names_in
from gradscope.model.finding import Related
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site

_AFTER = "post_accumulate"
_SEES_ALL = ("multi_grad", "node_pre", "node_post", "reducer")  # kinds of hooks that may have taken the gradient
_SHARES = {"detach", "alias", "clone", "_to_copy"}
_COMPUTES = {"mul", "div", "neg", "sign", "sgn", "abs", "pow", "add", "sub"}
_BRANCHES = (ast.For, ast.While, ast.Try, ast.IfExp, ast.Match, ast.comprehension, ast.Subscript)
_OF_TORCH = {"torch", "math"}
_NUMBERS = {"float", "int", "abs"}


def gradient_replaced(case: Case) -> Iterator[Cause]:
    """A hook that replaces the gradient by something computed without it.

    What it flags: a hook on a parameter gives it, in the place of its gradient, a gradient of the hook's own that is
        computed from the weights alone, such as that of a penalty.
    Why: what a hook assigns to `parameter.grad`, and what a hook of register_hook returns, takes the gradient's place.
        What the loss has to say to this parameter is lost: it follows the penalty and learns nothing from the data.
    Wrong:
        def decay(parameter):
            parameter.grad = 0.01 * parameter.detach()
        weight.register_post_accumulate_grad_hook(decay)
    Right:
        def decay(parameter):
            parameter.grad.add_(parameter.detach(), alpha=0.01)
        weight.register_post_accumulate_grad_hook(decay)
    Do instead: add to the gradient: `parameter.grad.add_(...)`, or `return gradient + ...` in a hook of register_hook;
        or give the optimizer weight_decay.
    How it is found: all operators that ran in the hook compute with the parameter and numbers and read no other tensor,
        and the function names the gradient nowhere but where it assigns or returns what they made. An optimizer steps
        the parameter, no other hook is there that could have taken the gradient, and the function calls none of the
        program's own.
    """
    said: dict[Site, tuple[Cause, list[str]]] = {}
    for call in followed_hook_calls(case):
        site = _replaced_at(case, call) if _is_lost(case, call) and _is_of_parameter(case, call) else None
        if site is not None:
            leaves = said.setdefault(site, (_replaces(call, site), []))[1]
            leaves.extend({call.leaf}.difference(leaves))
    for cause, leaves in said.values():
        yield replace(cause, message=cause.message.format(parameters=several(leaves)), weight=len(leaves))


def _replaces(call: HookCall, site: Site) -> Cause:
    return Cause(
        f"the hook {call.hook.name} puts what it computes from the weights in the place of their gradient "
        "({parameters}): what the loss says to them is lost",
        site,
        (Related("registered_at", call.hook.site, f"on {call.hook.on}"),),
        node=call.node,
        tensor=call.leaf,
        backward=call.backward,
    )


def _is_lost(case: Case, call: HookCall) -> bool:
    """Whether an optimizer steps the parameter, and no other hook can have taken its gradient before."""
    held = any(one.name == call.leaf for look in case.optimizer_looks() for one in look.parameters)
    others = (one for one in case.hooks() if (one.name, one.kind) != (call.hook.name, call.hook.kind))
    return held and not any(one.on == call.leaf or one.kind in _SEES_ALL for one in others)


def _is_of_parameter(case: Case, call: HookCall) -> bool:
    """Whether all that ran computes with the parameter, which it leaves as it is."""
    parameter, tensors = parameters_by_leaf(case).get(call.leaf), tensors_by_number(case)
    names = {base_name(one.name).removesuffix("_") for one in call.operations}
    if parameter is None or not names <= _SHARES | _COMPUTES or names <= _SHARES:
        return False
    own = {parameter.storage}
    for one in call.flow:
        read = {tensors[read.tensor].storage if read.tensor in tensors else None for read in one.reads}
        made = {tensors[number].storage for number in one.makes if number in tensors}
        writes = base_name(one.operation.name).endswith("_") and parameter.storage in made
        if not read or not read <= own or writes:
            return False
        own |= made
    return True


def _replaced_at(case: Case, call: HookCall) -> Site | None:
    """The line that gives the gradient's place to what the operators made."""
    function = _function(case, call)
    argument = None if function is None else _argument(function)
    if function is None or argument is None or not _is_plain(function, argument):
        return None
    given = _assigned(function, argument) if call.hook.kind == _AFTER else _returned(function, argument)
    if given is None or not _ran_at(call, _resolved(function, given[1])):
        return None
    file = next(site for site in inside_hook(call.operations[0]) if site.origin is Origin.USER).file
    return source_lines.line(case, file, given[0].lineno, getattr(function, "name", "<lambda>"))


def _function(case: Case, call: HookCall) -> source_lines.Definition | None:
    """The hook, where all that ran in its call was called by its own lines."""
    frames = [[one for one in inside_hook(each) if one.origin is Origin.USER] for each in call.operations]
    functions = [source_lines.enclosing(case, own[0]) if len(own) == 1 else None for own in frames]
    return functions[0] if all(one is functions[0] for one in functions) else None


def _argument(function: source_lines.Definition) -> str | None:
    """The one argument that a hook must be given."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    required = names[: len(names) - len(function.args.defaults)]
    own = [name for name in required if name != "self"]
    return own[0] if len(own) == 1 and function.args.vararg is None else None


def _is_plain(function: source_lines.Definition, argument: str) -> bool:
    """Whether a function takes one way only, unless the parameter's shape decides, and calls tensors and torch."""
    followed = {argument} | _names_made(function)
    for node in ast.walk(function):
        if isinstance(node, _BRANCHES) or (isinstance(node, ast.If) and not names_in(node.test) <= {argument}):
            return False
        if isinstance(node, ast.Constant) and node.value in {0, "grad"}:  # a zero clears on purpose
            return False
        if isinstance(node, ast.Call) and not _is_known(node, followed):
            return False
    return True


def _is_known(call: ast.Call, tensors: set[str]) -> bool:
    """Whether a call is of a tensor's method, which computes, of torch's, or makes a number."""
    if isinstance(call.func, ast.Name):
        return call.func.id in _NUMBERS
    if not isinstance(call.func, ast.Attribute):
        return False
    names = names_in(call.func.value)
    return bool(names & (tensors | _OF_TORCH)) or ast.unparse(call.func).endswith((".detach", ".sign", ".clone"))


def _names_made(function: source_lines.Definition) -> set[str]:
    assigns = (node for node in ast.walk(function) if isinstance(node, ast.Assign))
    return {target.id for one in assigns for target in one.targets if isinstance(target, ast.Name)}


def _assigned(function: source_lines.Definition, argument: str) -> tuple[ast.stmt, ast.expr] | None:
    """The statement `argument.grad = ...`, where the gradient is named nowhere else in the function."""
    named = [node for node in ast.walk(function) if isinstance(node, ast.Attribute) and node.attr == "grad"]
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and node.targets == named and ast.unparse(named[0].value) == argument:
            return node, node.value
    return None


def _returned(function: source_lines.Definition, argument: str) -> tuple[ast.stmt | ast.expr, ast.expr] | None:
    """What is returned in any case by a function that never reads its argument, which it does not name as unused."""
    if argument.startswith("_") or any(isinstance(one, ast.Name) and one.id == argument for one in ast.walk(function)):
        return None
    if any(isinstance(one, ast.Attribute) and one.attr == "grad" for one in ast.walk(function)):
        return None
    if isinstance(function, ast.Lambda):
        return function.body, function.body
    last, returns = function.body[-1], [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    return (last, last.value) if isinstance(last, ast.Return) and returns == [last] and last.value else None


def _resolved(function: source_lines.Definition, value: ast.expr) -> ast.expr | None:
    """What an expression stands for: of a name, the one expression that it is given."""
    if not isinstance(value, ast.Name):
        return value if isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Call)) else None
    assigns = [node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.AugAssign))]
    given = [one for one in assigns if any(_stores(node, value.id) for node in ast.walk(one))]
    return given[0].value if len(given) == 1 and isinstance(given[0], ast.Assign) else None


def _stores(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _ran_at(call: HookCall, value: ast.expr | None) -> bool:
    """Whether the last operator of the hook that computes made the value of this expression."""
    made = [one for one in call.operations if base_name(one.name).removesuffix("_") in _COMPUTES]
    line = made[-1].site.line if made and made[-1].site is not None else 0
    return value is not None and value.lineno <= line <= (value.end_lineno or value.lineno)
