"""Sees hooks being registered and firing.

A hook that torch keeps in a dict is watched by observers placed between the hooks for the length of one backward:
they see the gradient before and after each hook, add no frame to a traceback and return nothing.
"""

from __future__ import annotations

import itertools
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

import torch

from gradscope.model.detail import Detail
from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.graph.node_creation import node_creation
from gradscope.probes.hooks.gradient_snapshot import NOTHING, GradientSnapshot, change
from gradscope.probes.hooks.multi_grad import shared
from gradscope.probes.hooks.owners import calling, holds, is_mechanism
from gradscope.probes.hooks.registrations import KINDS, ON_A_NODE, Registration, gone, is_registered
from gradscope.probes.hooks.retain_grad import RetainGrad, holder_of
from gradscope.torch_internals.dynamo import skip, skip_methods
from gradscope.torch_internals.find import Replacement
from gradscope.torch_internals.guards import no_function
from gradscope.torch_internals.running import current_node

Fired = tuple[int, int | None, int, float | None, float | None, float | None]  # the columns of `firing`


class HookRecorder(Watcher):
    """Records registrations at once, and firings in each backward."""

    probe = "hooks"

    def __init__(self, context: Context) -> None:
        self._retaining = context.options.has("retain_grad")
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._names, self._nodes, self._faults = context.names, context.get(node_creation), context.faults
        self._numbers = itertools.count()
        self._registered: dict[tuple[int, int], Registration] = {}  # (dict, key) -> registration
        self._unwritten: list[Registration] = []
        self._retained: list[Registration] = []
        self._observed: dict[int, tuple[Any, list[Any], int]] = {}  # dict -> itself, our keys, backwards that use it
        self._fired: dict[int, list[Fired]] = {}
        self._measured = context.options.detail.has(Detail.FULL)  # what each does to the norm, and the time it takes
        self._running: list[BackwardCall] = []
        self._looks: dict[int, GradientSnapshot] = {}  # thread -> the gradient as it was before a hook
        self._placed: dict[int, list[int]] = {}  # backward -> the dicts that it has put observers in
        self._off = False
        context.faults.switch(self.probe, self._switch_off)

    # registering

    def __enter__(self) -> HookRecorder:
        skip_methods(HookRecorder)
        self._handles = Replacement("torch.utils.hooks.RemovableHandle.__init__")
        self._module_handles = Replacement("torch.utils.hooks.BackwardHook.__init__")
        handle_init, module_init, threads = self._handles.original, self._module_handles.original, self._threads

        def make_handle(handle: Any, hooks_dict: Any, *, extra_dict: Any = None) -> None:
            handle_init(handle, hooks_dict, extra_dict=extra_dict)
            if not threads.current.busy:  # else it is ours
                self._note(handle, hooks_dict, sys._getframe(1))

        def make_module_hook(hook: Any, module: Any, user_hooks: Any, user_pre_hooks: Any) -> None:
            observed = self._around(module, "_backward_hooks", user_hooks)
            observed_pre = self._around(module, "_backward_pre_hooks", user_pre_hooks)
            module_init(hook, module, observed, observed_pre)

        skip(make_handle, make_module_hook)
        self._handles.put(make_handle)
        self._module_handles.put(make_module_hook)
        if self._retaining:
            torch.Tensor.retain_grad = RetainGrad(self.retain)  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *error: object) -> None:
        self._handles.restore()
        self._module_handles.restore()
        if self._retaining:
            del torch.Tensor.retain_grad
        self._write_registrations()

    def _note(self, handle: Any, hooks_dict: Any, frame: Any) -> None:
        if self._off:
            return
        try:
            kind = KINDS.get(frame.f_code.co_name)
            if kind is None or is_mechanism(frame):
                return
            names = frame.f_locals
            hook, owner = names.get("hook"), names.get("self")
            above = calling(frame, "register_multi_grad_hook")
            if above is not None:
                kind, hook = "multi_grad", above.f_locals.get("fn", hook)
            registration = self._register(kind, hook, owner, frame)
            registration.shared = None if above is None else shared(above.f_locals)
            registration.key, registration.hooks = handle.id, weakref.ref(hooks_dict)
            self._registered[id(hooks_dict), handle.id] = registration
        except Exception as error:
            self._faults.note(self.probe, error)

    def _register(self, kind: str, hook: Any, owner: Any, frame: Any) -> Registration:
        registration = Registration()
        registration.number, registration.kind = next(self._numbers), kind
        registration.name = getattr(hook, "__qualname__", type(hook).__qualname__)
        registration.stack = self._stacks.take(frame.f_back, self._threads.current.base)
        registration.uid, registration.hint, registration.leaf, registration.on = 0, self._nodes.youngest(), None, ""
        registration.shared, registration.key, registration.hooks = None, 0, gone
        if isinstance(owner, torch.Tensor):
            self._hang_on_tensor(registration, owner)
        elif isinstance(owner, torch.nn.Module):
            registration.on = self._names.path(owner) or type(owner).__name__
        self._unwritten.append(registration)
        return registration

    def _hang_on_tensor(self, registration: Registration, tensor: torch.Tensor) -> None:
        with no_function():
            node = tensor.grad_fn
        if node is None:
            registration.leaf = weakref.ref(tensor)
            return
        token = token_of(node) or self._nodes.adopt(node)
        registration.uid, registration.on = token.uid, node.name()

    def retain(self, tensor: torch.Tensor) -> None:
        """retain_grad was asked of a tensor: torch keeps it on the node, out of Python's sight."""
        if self._off:
            return
        try:
            with no_function():  # the script's function modes must not see us look
                wanted = tensor.requires_grad and tensor.grad_fn is not None and not tensor.retains_grad
            if wanted:
                registration = self._register("retain_grad", self.retain, tensor, sys._getframe(1))
                registration.name, registration.hooks, registration.key = "retain_grad", weakref.ref(tensor), 0
                self._retained.append(registration)
        except Exception as error:
            self._faults.note(self.probe, error)

    def are_none(self) -> bool:
        """Whether no hook is known to be there."""
        return not (self._off or self._registered or self._retained)

    # firing

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Place the observers, and say which nodes hold which hooks."""
        if self._off:
            return
        self._running.append(call)
        self._fired[call.number] = []
        if not self._registered and not self._retained and not self._unwritten:
            return
        for place, registration in list(self._registered.items()):
            if registration.hooks() is None:
                del self._registered[place]
        self._find_nodes(call)
        for one in tuple(self._unwritten):
            if is_registered(one):
                self._sink.add("hook_since", (one.number, call.number))
        self._write_registrations()
        self._say_where(call)
        if call.compiled:
            return
        self._placed[call.number] = []
        for hooks in {id(found): found for found in (one.hooks() for one in list(self._registered.values()))}.values():
            if hooks is not None:
                self._observe(hooks, call.number)

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Take the observers away and write what fired."""
        self._take_away(call.number)
        fired = self._fired.pop(call.number, [])
        self._sink.add_all("firing", ((call.number, position, *row) for position, row in enumerate(fired)))

    def forget(self, call: BackwardCall) -> None:
        """Take away what is left of a call."""
        self._take_away(call.number)
        self._fired.pop(call.number, None)
        if call in self._running:
            self._running.remove(call)

    def _take_away(self, backward: int) -> None:
        """Take away the observers of a backward, unless another one that runs uses them, too."""
        placed = self._placed.get(backward, [])
        while placed:
            hooks, keys, uses = self._observed[placed[-1]]
            if uses == 1:
                for ours in keys:
                    hooks.pop(ours, None)
            key = placed.pop()  # the rest needs no call that a signal handler could interrupt
            if uses == 1:
                del self._observed[key]
            else:
                self._observed[key] = (hooks, keys, uses - 1)
        self._placed.pop(backward, None)

    def _switch_off(self) -> None:
        self._off = True

    def _observe(self, hooks: Any, backward: int) -> None:
        """Put an observer before the first hook of a dict and after each."""
        placed = self._placed[backward]
        if id(hooks) in self._observed:
            same, ours, uses = self._observed[id(hooks)]
            self._observed[id(hooks)] = (same, ours, uses + 1)
            placed.append(id(hooks))
            return
        first = _Key()
        keys: list[Any] = [first]
        together: dict[Any, Any] = {first: self._observer(None)}
        for key, hook in hooks.items():
            behind = _Key()
            keys.append(behind)
            together[key] = hook
            together[behind] = self._observer(self._registered.get((id(hooks), key)))
        self._observed[id(hooks)] = (hooks, keys, 1)
        placed.append(id(hooks))
        try:
            hooks.clear()  # torch reads the order in which keys were put in: move_to_end does not change that
        finally:
            hooks.update(together)

    def _observer(self, registration: Registration | None) -> Callable[..., None]:
        def observe(*arguments: Any) -> None:
            if self._off:
                return
            try:
                self._saw(registration, arguments)
                self._looks[self._threads.current.number].ended = time.perf_counter()  # the next hook begins here
            except Exception as error:
                self._faults.note(self.probe, error)

        skip(observe)
        return observe

    def _saw(self, registration: Registration | None, arguments: tuple[Any, ...]) -> None:
        thread = self._threads.current
        call = self._threads.tasks.running(thread) or (self._running[-1] if self._running else None)
        before = self._looks.get(thread.number, NOTHING)
        now = self._looks[thread.number] = GradientSnapshot(arguments[0], thread if self._measured else None)
        changed = 0 if registration is None else change(before.identity, now.identity)
        if registration is None or call is None or call.walked is None:
            return
        if registration.shared is not None and not registration.shared.ran():
            return
        if registration.kind == "node_post" and len(arguments) == 1:
            registration.kind = "node_pre"
            self._unwritten.append(registration)
        node = current_node()
        token = None if node is None else token_of(node)
        number = None if token is None else call.walked.numbers.get(token.uid)
        if call.number in self._fired:
            took = now.began - before.ended if self._measured else None
            self._fired[call.number].append((registration.number, number, changed, before.norm, now.norm, took))

    def _around(self, module: Any, dictionary: str, hooks: Any) -> Any:
        """A module's backward hooks are copied at its forward: place the observers in the copy."""
        if self._off:
            return hooks
        try:
            known = self._module_hooks(module, dictionary)
            if not known:
                return hooks
            around: list[Any] = [self._module_observer(None)]
            for hook in hooks:
                around.append(hook)
                if id(hook) in known:
                    around.append(self._module_observer(known[id(hook)]))
            return around if len(around) > 1 else hooks
        except Exception as error:
            self._faults.note(self.probe, error)
            return hooks

    def _module_observer(self, registration: Registration | None) -> Callable[..., None]:
        """Module hooks get (module, grad_input, grad_output) or (module, grad_output)."""
        observe = self._observer(registration)

        def observe_module(module: Any, *gradients: Any) -> None:
            observe(*gradients, None)

        skip(observe_module)
        return observe_module

    def _module_hooks(self, module: Any, dictionary: str) -> dict[int, Registration]:
        found = {}
        for hooks in (getattr(module, dictionary), getattr(torch.nn.modules.module, f"_global{dictionary}")):
            for key, hook in hooks.items():
                registration = self._registered.get((id(hooks), key))
                if registration is not None:
                    found[id(hook)] = registration
        return found

    def next_number(self) -> int:
        """The number of a hook that another probe sees."""
        return next(self._numbers)

    def acted(self, number: int, node: Any) -> None:
        """A hook that another probe sees has acted, at a node."""
        call = self._threads.tasks.running(self._threads.current) or (self._running[-1] if self._running else None)
        token = token_of(node)
        if call is not None and call.walked is not None and call.number in self._fired:
            place = None if token is None else call.walked.numbers.get(token.uid)
            self._fired[call.number].append((number, place, 0, None, None, None))

    # writing

    def _write_registrations(self) -> None:
        for one in (unwritten := tuple(self._unwritten)):
            leaf = None if one.leaf is None else one.leaf()
            if leaf is not None:
                one.on = self._names.leaf(leaf)
            row = (one.number, one.kind, self._sink.string(one.name), self._sink.string(one.on), one.stack)
            self._sink.add("hook", row)
        del self._unwritten[: len(unwritten)]  # another thread may have added more

    def _say_where(self, call: BackwardCall) -> None:
        assert call.walked is not None
        self._retained = [one for one in self._retained if one.hooks() is not None]
        for one in self._retained:
            one.uid = holder_of(one.hooks()) or one.uid  # an in-place edit takes it along, to the tensor's new node
        for one in (*self._registered.values(), *self._retained):
            leaf = None if one.leaf is None else one.leaf()
            node = call.walked.numbers.get(one.uid) if leaf is None else call.walked.leaves.get(id(leaf))
            if node is not None:
                self._sink.add("hook_on", (call.number, one.number, node))

    def _find_nodes(self, call: BackwardCall) -> None:
        """Node hooks do not say which node they hang on: try the nodes, those made near the registration first."""
        lost = {id(one.hooks()): one for one in [*self._registered.values()] if one.kind in ON_A_NODE and not one.uid}
        for one in list(lost.values()):
            live = ((token_of(node), node) for node in call.live)
            near = sorted(
                ((abs(token.uid - one.hint), token.uid, node) for token, node in live if token), key=lambda at: at[:2]
            )
            for _, uid, node in near:
                kind = holds(node, one.hooks())
                if kind is not None:
                    one.uid, one.kind, one.on = uid, kind, node.name()
                    self._unwritten.append(one)
                    break


class _Key:
    """The key of an observer in a dict of hooks: equal to nothing else."""

    __slots__ = ()
