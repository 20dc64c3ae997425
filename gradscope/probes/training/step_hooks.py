"""Tells when any optimizer steps, and when it has, by torch's own hooks for that.

The surprise: handles of hooks are numbered for the whole program, so ours get numbers that none has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import optimizer as optimizer_module
from torch.utils.hooks import RemovableHandle

from gradscope.probes.core.context import Context
from gradscope.probes.core.optimizer_numbers import OptimizerNumbers, with_gradients
from gradscope.torch_internals.dynamo import skip
from gradscope.torch_internals.guards import no_function

_OURS = -1  # a key among the hooks of all optimizers


class StepHooks:
    """Stands among the hooks of all optimizers and passes on what they say."""

    probe = "optimizer steps"

    def __init__(self, context: Context) -> None:
        self._faults, self._optimizers = context.faults, context.get(OptimizerNumbers)
        self._steps, self._stepped = context.events.optimizer_steps, context.events.optimizer_stepped
        self._handles: list[RemovableHandle] = []

    def __enter__(self) -> StepHooks:
        def before_step(optimizer: Any, arguments: Any, keywords: Any) -> None:
            try:
                if not torch.compiler.is_compiling():
                    frame = sys._getframe(2)  # 1 is torch's wrapper of the step
                    with no_function():
                        present = with_gradients(optimizer)  # once, for all who ask
                        froze = self._optimizers.more_are_frozen(optimizer, present)
                        for told in self._steps:
                            told(optimizer, frame, present, froze)
            except Exception as error:
                self._faults.note(self.probe, error)

        def after_step(optimizer: Any, arguments: Any, keywords: Any) -> None:
            try:
                for told in self._stepped:
                    told(optimizer)
            except Exception as error:
                self._faults.note(self.probe, error)

        skip(before_step, after_step)
        self._register(optimizer_module.register_optimizer_step_pre_hook, before_step)
        self._register(optimizer_module.register_optimizer_step_post_hook, after_step)
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _register(self, register: Callable[[Any], RemovableHandle], hook: Any) -> None:
        following = RemovableHandle.next_id
        handle = register(hook)
        RemovableHandle.next_id = following
        hooks: Any = handle.hooks_dict_ref()
        hooks[_OURS] = hooks.pop(handle.id)
        handle.id = _OURS
        self._handles.append(handle)
