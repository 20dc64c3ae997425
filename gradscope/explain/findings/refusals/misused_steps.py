"""What torch refuses of optimizers, schedules and a GradScaler, told as GS863."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.lines.refusals import Refusal
from gradscope.explain.deductions.memory.plain_containers import container_around, made_plain_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.failed_forward import operations_before
from gradscope.explain.evidence.optimizers import made_at, stepped_at
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.failure import Failure
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_MODULE = "torch/nn/modules/module.py"
_NEAR = 64  # operators before an optimizer is made, which have initialised the layers


def _kept_in_a_list(case: Case, failure: Failure, _: tuple[str, ...]) -> Site | None:
    """The only line that keeps what was initialised just before in a plain list or dict of an object."""
    found = {container_around(case, one.stack) for one in operations_before(case, failure, _NEAR)} - {None}
    put = found.pop() if len(found) == 1 else None
    return None if put is None else made_plain_at(case, put) or put


def _made(case: Case, failure: Failure, _: tuple[str, ...]) -> Site | None:
    """The line that made the optimizer whose step was refused."""
    return made_at(case, None if failure.site is None else stepped_at(case, failure.site))


def _before_the_scale(case: Case, failure: Failure, _: tuple[str, ...]) -> Site | None:
    """The last backward, whose loss was not scaled."""
    own = [one.site for one in case.backwards() if one.thread == failure.thread]
    return own[-1] if own else None


def _made_half(case: Case, _: Failure, __: tuple[str, ...]) -> Site | None:
    """The only line that was seen to make float16 of a module, or that says so of one by its name."""
    seen = set(_seen_to_make_half(case))
    modules = _with_parameters(case)
    found = {
        syntax(case).site(file, node.lineno)
        for file in syntax(case).files
        for node in syntax(case).nodes(file)
        if isinstance(node, ast.Assign | ast.Expr) and any(map(_is_half, ast.walk(node))) and modules & _names(node)
    }
    return next((lines.pop() for lines in (seen, found) if len(lines) == 1), None)


def _seen_to_make_half(case: Case) -> Iterator[Site]:
    """The lines at which a module's own to() or half() made a tensor of float16."""
    flow = dataflow(case)
    for one in flow.operations:
        made = next((flow.tensors[tensor] for tensor in one.makes if tensor in flow.tensors), None)
        if made is not None and made.type.dtype == "float16" and base_name(one.operation.name) == "_to_copy":
            frames = [site.function for site in one.operation.stack if _MODULE in site.file.replace("\\", "/")]
            if one.site is not None and "_apply" in frames:
                yield one.site


def _with_parameters(case: Case) -> set[str]:
    """The names of which the program asks the parameters()."""
    nodes = [node for file in syntax(case).files for node in syntax(case).nodes(file)]
    asked = [one.func for one in nodes if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)]
    return {last_name(one.value) for one in asked if one.attr in ("parameters", "named_parameters")} - {""}


def _names(statement: ast.Assign | ast.Expr) -> set[str]:
    """What a statement gives a value, or calls a method of."""
    if isinstance(statement, ast.Assign):
        return {last_name(target) for target in statement.targets}
    called = statement.value.func if isinstance(statement.value, ast.Call) else None
    return {last_name(called.value)} if isinstance(called, ast.Attribute) else set()


def _is_half(call: ast.AST) -> bool:
    if not isinstance(call, ast.Call) or "autocast" in called_name(call):
        return False
    kinds = [*call.args, *(one.value for one in call.keywords if one.arg in ("dtype", "torch_dtype"))]
    return any(last_name(one) in ("float16", "half") for one in kinds) or (
        called_name(call) == "half" and not call.args
    )


OF_STEPS = (
    Refusal(
        re.compile("optimizer got an empty parameter list"),
        "the optimizer is given no parameter",
        "keep layers in nn.ModuleList or nn.ModuleDict, parameters as nn.Parameter on the module; what parameters() "
        "and filter() give is empty once it was gone through",
        where=_kept_in_a_list,
        role="the optimizer",
    ),
    Refusal(
        re.compile(r"LBFGS\.step\(\) missing 1 required positional argument: 'closure'"),
        "L-BFGS computes the loss several times a step, and is given nothing to compute it with",
        "give it a function that clears the gradients, computes the loss, calls backward() and returns the loss",
    ),
    Refusal(
        re.compile(r"ReduceLROnPlateau\.step\(\) missing 1 required positional argument: 'metrics'"),
        "this schedule waits for a measure to stop falling, and is given none",
        "give it what is measured: scheduler.step(validation_loss)",
    ),
    Refusal(
        re.compile("param 'initial_lr' is not specified in param_groups"),
        "a schedule is to go on where the optimizer has never had one",
        "leave last_epoch out, and load the schedule's state_dict() with the optimizer's",
    ),
    Refusal(
        re.compile("Attempted (?:step|unscale_) but _scale is None"),
        "this loss is derived without its scale, and the GradScaler steps",
        "derive the scaled loss: scaler.scale(loss).backward()",
        where=_before_the_scale,
        role="the step",
    ),
    Refusal(
        re.compile("No inf checks were recorded for this optimizer"),
        "no parameter of this optimizer has a gradient",
        "call scaler.scale(loss).backward() before, and give the optimizer the parameters that the loss depends on",
    ),
    Refusal(
        re.compile("No inf checks were recorded prior to update"),
        "update() is called where no step() of the scaler has come since the last one: twice for one step",
        "call update() once, after the step() of each optimizer",
    ),
    Refusal(
        re.compile(r"(unscale_|step)\(\) (?:has already been called|is being called after)"),
        "gradients are divided by the scale twice between two update()",
        "call unscale_() once, after the last backward() of a step, and update() after each step()",
    ),
    Refusal(
        re.compile("Attempting to unscale FP16 gradients"),
        "the parameters are float16, where a GradScaler divides the gradients of float32 ones",
        "keep the model in float32, and let torch.autocast choose float16 for each operator",
        where=_made_half,
        role="the GradScaler",
    ),
    Refusal(
        re.compile(r"add\(sparse, dense\) is not supported"),
        "weight_decay adds all of a table to gradients that are sparse, as nn.Embedding(sparse=True) gives them",
        "leave weight_decay out for such tables, in a group of their own, or leave out sparse=True",
        functions=("_single_tensor_sgd", "_single_tensor_adagrad", "_multi_tensor_sgd"),
        where=_made,
        role="the step",
    ),
    Refusal(
        re.compile("weight_decay option is not compatible with sparse gradients"),
        "weight_decay adds all of a table to gradients that are sparse, as nn.Embedding(sparse=True) gives them",
        "leave weight_decay out for such tables, in a group of their own, or leave out sparse=True",
        where=_made,
        role="the step",
    ),
    Refusal(
        re.compile(r"(\w+) does not support sparse gradients"),
        "{0} is given gradients that are sparse, as nn.Embedding(sparse=True) gives them",
        "give such tables to torch.optim.SparseAdam or SGD, each optimizer its own, or leave out sparse=True",
        where=_made,
        role="the step",
    ),
    Refusal(
        re.compile("SparseAdam does not support dense gradients"),
        "SparseAdam is given gradients that are dense",
        "give it only tables of nn.Embedding(sparse=True), and the rest to an optimizer of their own",
        where=_made,
        role="the step",
    ),
)
