"""What is said of each call that is heard, in one table: torch's function, and what its arguments say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import GeneratorType
from typing import Any

import torch
from torch import nn

from gradscope.model.training import (
    ASSIGN,
    AUTOCAST,
    CLIP,
    EVAL,
    FREEZE,
    LEARN,
    LOAD,
    LOAD_NOTHING,
    MADE,
    NO_SYNC,
    RESTORE,
    SCALE,
    SCALED_STEP,
    SCHEDULE,
    STATE,
    TRAIN,
    UNHOOK,
    UNKNOWN,
    UNSCALE,
    ZERO_GRAD,
    CallKind,
)
from gradscope.probes.core.optimizer_numbers import with_gradients
from gradscope.probes.tensors.metadata import storage_of
from gradscope.torch_internals.parts import TRAINING

_WITH_DROPOUT = (nn.RNNBase, nn.MultiheadAttention)
_NO_BOUND = 1e6  # what is so large bounds nothing: the norm is asked for
_NORMS = (nn.modules.batchnorm._NormBase,)


@dataclass(frozen=True, slots=True)
class Said:
    """A call: its kind, the optimizer or module that it is of, and the two counts of its kind."""

    kind: CallKind
    of: Any
    count: int = 0
    total: int = 0


def _made(values: dict[str, Any]) -> Said:
    return Said(MADE, values["self"])


def _cleared(values: dict[str, Any]) -> Said:
    of = values["self"]
    if isinstance(of, nn.Module):
        return counted(ZERO_GRAD, of, [one.grad is not None for one in of.parameters()])
    return counted(ZERO_GRAD, of, with_gradients(of))


def _clipped(bound: str, values: dict[str, Any]) -> Said:
    parameters = values["parameters"]
    if isinstance(parameters, torch.Tensor):
        total = 1
    else:
        total = (
            UNKNOWN if isinstance(parameters, GeneratorType) or not hasattr(parameters, "__len__") else len(parameters)
        )
    return Said(CLIP, None, int(values[bound] < _NO_BOUND), total)


def _scaled(values: dict[str, Any]) -> Said:
    return Said(SCALE, None, int(values["self"].is_enabled()))


def _of_scaler(kind: CallKind, values: dict[str, Any]) -> Said | None:
    if not values["self"].is_enabled():
        return None
    return counted(kind, values["optimizer"], with_gradients(values["optimizer"]))


def _mode(values: dict[str, Any]) -> Said:
    module, training = values["self"], bool(values["mode"])
    inside = list(nn.Module.modules(module))
    changed = sum(one.training != training for one in inside)
    return Said(TRAIN if training else EVAL, module, changed, sum(map(depends_on_mode, inside)))


def _switched(values: dict[str, Any]) -> Said:
    module, learns = values["self"], bool(values["requires_grad"])
    own = list(nn.Module.parameters(module))
    return Said(LEARN if learns else FREEZE, module, sum(one.requires_grad != learns for one in own), len(own))


def _unhooked(values: dict[str, Any]) -> Said | None:
    handle = values["self"]
    hooks, number = handle.hooks_dict_ref(), handle.id
    is_there = hooks is not None and number in hooks
    return Said(UNHOOK, None) if is_there and number >= 0 else None  # below 0: one of gradscope's


def _state(values: dict[str, Any]) -> Said:
    return Said(STATE, values["self"])


def _loaded(values: dict[str, Any]) -> Said:
    module, given = values["self"], values["state_dict"]
    own = [one for one in (*nn.Module.parameters(module), *nn.Module.buffers(module)) if one.numel()]
    there = {storage_of(one)[0] for one in given.values() if isinstance(one, torch.Tensor)} - {0}
    if not values["strict"] and own and _finds_nothing(module, given):
        return Said(LOAD_NOTHING, module, len(given), len(own))
    kind = ASSIGN if values["assign"] else LOAD
    return Said(kind, module, sum(storage_of(one)[0] in there for one in own), len(own))


def _finds_nothing(module: nn.Module, given: dict[str, Any]) -> bool:
    """Whether no tensor of a module is given under its name, and nobody translates names before they are looked up."""
    if any(one._load_state_dict_pre_hooks for one in nn.Module.modules(module)):
        return False
    named = (nn.Module.named_parameters, nn.Module.named_buffers)
    return not any(name in given for all_of in named for name, _ in all_of(module, remove_duplicate=False))


def _restored(values: dict[str, Any]) -> Said | None:
    optimizer, given = values["self"], values["state_dict"]
    forms = {"state": dict, "param_groups": list}
    if not isinstance(given, dict) or not all(isinstance(given.get(name), form) for name, form in forms.items()):
        return None  # torch will say so
    own = [one for group in optimizer.param_groups for one in group["params"]]
    places = [place for group in given["param_groups"] for place in group.get("params", ())]
    states = [(one, given["state"].get(place)) for one, place in zip(own, places, strict=False)]
    known = [(one, state) for one, state in states if isinstance(state, dict)]
    return Said(RESTORE, optimizer, sum(_is_of_another(one, state) for one, state in known), len(known))


def _is_of_another(parameter: torch.Tensor, state: dict[str, Any]) -> bool:
    """Whether nothing that is kept for a parameter has its shape, and something has a size that it has not: what is
    factorised has some of its sizes."""
    shapes = [one.shape for one in state.values() if isinstance(one, torch.Tensor)]
    return parameter.shape not in shapes and any({*shape} - {1, *parameter.shape} for shape in shapes)


def _autocast(values: dict[str, Any]) -> Said:
    context = values["self"]
    keeps = context._enabled and context._cache_enabled
    return Said(AUTOCAST, None, int(keeps), int(not torch.is_autocast_enabled(context.device)))


def _unsynchronised(values: dict[str, Any]) -> Said:
    return Said(NO_SYNC, values["self"])


def _scheduled(values: dict[str, Any]) -> Said:
    return Said(SCHEDULE, values["self"].optimizer)


def counted(kind: CallKind, of: Any, present: list[bool]) -> Said:
    """A call that says how many parameters hold a gradient, and how many there are."""
    return Said(kind, of, present.count(True), len(present))


def depends_on_mode(module: nn.Module) -> bool:
    """Whether a module of torch's computes something else in training mode."""
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return module.p > 0
    if isinstance(module, _WITH_DROPOUT):
        return module.dropout > 0
    return isinstance(module, _NORMS) and (
        module.track_running_stats or isinstance(module, nn.modules.batchnorm._BatchNorm)
    )


HEARD: dict[str, Callable[[dict[str, Any]], Said | None]] = {
    "torch.optim.Optimizer.__init__": _made,
    "torch.optim.Optimizer.zero_grad": _cleared,
    "torch.optim.Optimizer.load_state_dict": _restored,
    "torch.nn.Module.zero_grad": _cleared,
    "torch.nn.Module.train": _mode,
    "torch.nn.Module.requires_grad_": _switched,
    "torch.nn.Module.state_dict": _state,
    "torch.nn.Module.load_state_dict": _loaded,
    "torch.nn.utils.clip_grad.clip_grad_norm_": partial(_clipped, "max_norm"),
    "torch.nn.utils.clip_grad.clip_grad_value_": partial(_clipped, "clip_value"),
    "torch.amp.grad_scaler.GradScaler.scale": _scaled,
    "torch.amp.grad_scaler.GradScaler.unscale_": partial(_of_scaler, UNSCALE),
    "torch.amp.grad_scaler.GradScaler.step": partial(_of_scaler, SCALED_STEP),
    "torch.optim.lr_scheduler.LRScheduler.step": _scheduled,
    "torch.optim.lr_scheduler.ReduceLROnPlateau.step": _scheduled,
    "torch.amp.autocast_mode.autocast.__enter__": _autocast,
    "torch.nn.parallel.DistributedDataParallel.no_sync": _unsynchronised,
    "torch.utils.hooks.RemovableHandle.remove": _unhooked,
}
assert tuple(HEARD) == TRAINING, "each of them is in the table of torch's parts"
