"""GS856: a dropout that does not know of eval(), seen to draw in a forward in evaluation mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.block_calls import calls_by_block
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.module import ModuleCall
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin, Site
from gradscope.model.training import FORWARD

_DRAWS = ("bernoulli_", "native_dropout")
_FUNCTIONS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
_PLACE = 2  # of `training` among their arguments
_ATTENTION, _SHARE = "scaled_dot_product_attention", "dropout_p"  # which has no `training`
_SHARE_PLACE = 4  # among the arguments of the attention
_LAYERS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")


def dropout_in_evaluation(case: Case) -> Iterator[Cause]:
    """What it flags: F.dropout without `training=`, an nn.Dropout that is made in forward, or the `dropout_p=` of
    F.scaled_dot_product_attention, in evaluation.

    Why: eval() sets a flag on the modules that are registered. The function does not look at it: its own `training` is
    True unless it is told; the attention has no such argument, and drops whenever its share is above zero. Nor does a
    layer know that is made anew in each call. What is validated, and the model that is used later, then has parts of
    its numbers set to zero by chance.

    Wrong:
        def forward(self, x):
            return self.out(F.dropout(torch.relu(self.hidden(x)), p=0.3))

    Right:
        def forward(self, x):
            return self.out(F.dropout(torch.relu(self.hidden(x)), p=0.3, training=self.training))

    Do instead: pass training=self.training, or dropout_p=self.p if self.training else 0.0, or make an nn.Dropout in
    __init__. Where it is meant to draw in evaluation as well, say training=True.

    How it is found: the line drew in a forward with gradients, and again without them while every module that was
    called without gradients was in evaluation mode. A hint: it may be meant.
    """
    blocks = [(block, found) for block, found in case.blocks_with(_is_dropout) if block.backward is None and found]
    if not blocks:
        return
    trained = {one.site for _, found in blocks for one in found if one.grad}
    evaluations, told = _evaluations(case), set[Site]()
    for block, found in blocks:
        for one in found if block.number in evaluations else ():
            if one.site is not None and not one.grad and one.site in trained - told:
                told.add(one.site)
                words = _untold(case, one.site, one.module)
                if words is not None:
                    message = f"{words}, so that this line drops values in evaluation mode as well"
                    yield Cause(message, one.site, certain=False, op=one.name)


def _is_dropout(operation: Operation) -> bool:
    """Whether an operator draws for one of torch's dropouts."""
    if base_name(operation.name) not in _DRAWS:
        return False
    inner = operation.stack[:1]  # of an attention, which is written in C++, the line of the program itself
    return any(site.origin is not Origin.TORCH or site.function in _FUNCTIONS for site in inner)


def _evaluations(case: Case) -> frozenset[int]:
    """The blocks of operators in which all modules that were called without gradients were in evaluation mode."""
    return frozenset(block for block, modes in _modes(case).items() if modes == {False})


def _modes(case: Case) -> dict[int, set[bool]]:
    forwards = {(one.module, bool(one.count)) for each in case.intervals() for one in each.calls if one.kind is FORWARD}
    both = {module for module, training in forwards if (module, not training) in forwards}  # no loss, no frozen teacher
    return {
        block: {bool(call.count) for call in calls if call.kind is FORWARD and not call.total and call.module in both}
        for block, calls in calls_by_block(case).items()
    }


def _untold(case: Case, site: Site, module: ModuleCall | None) -> str | None:
    """What of a line's dropout does not know the mode, in words; None where it is told, or it cannot be seen."""
    calls = [node for node in syntax(case).nodes(site.file) if isinstance(node, ast.Call) and _is_on(node, site.line)]
    if module is not None and module.module_class in _LAYERS:
        made = any(isinstance(call.func, ast.Call) and last_name(call.func.func) in _LAYERS for call in calls)
        return f"an nn.{module.module_class} that is made for each call is in training mode" if made else None
    if any(map(_drops_attention, calls)):
        return f"{_ATTENTION}() does not know whether the model trains"
    found = [call for call in calls if last_name(call.func) in _FUNCTIONS]
    if not found or any(map(_is_told, found)):
        return None
    return f"{last_name(found[0].func)}() is not told whether the model trains"


def _is_told(call: ast.Call) -> bool:
    return len(call.args) > _PLACE or any(one.arg in ("training", "train", None) for one in call.keywords)


def _drops_attention(call: ast.Call) -> bool:
    """Whether a call gives an attention the share that it drops, with no word on when."""
    given = [*call.args[_SHARE_PLACE : _SHARE_PLACE + 1], *(one.value for one in call.keywords if one.arg == _SHARE)]
    return last_name(call.func) == _ATTENTION and any(not isinstance(one, ast.IfExp) for one in given)


def _is_on(node: ast.Call, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
