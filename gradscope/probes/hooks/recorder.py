"""Sees hooks being registered and firing.

Where hooks hang is written when a backward begins, and what fired when it ends: observers stood between the hooks
for that long. The surprise: torch makes a module's old-style hook anew at each forward, as one of a node.
"""

from __future__ import annotations

import itertools
import sys
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
from gradscope.probes.hooks.forward_hooks import REGISTERED_BY, ForwardHooks
from gradscope.probes.hooks.gradient_snapshot import GradientSnapshot
from gradscope.probes.hooks.multi_grad import shared
from gradscope.probes.hooks.observers import RAISED, Due, Observers, Turn
from gradscope.probes.hooks.owners import calling, holds, is_mechanism, wrapped_by
from gradscope.probes.hooks.registrations import KINDS, ON_A_NODE, Registration, again, gone, is_gone, is_registered
from gradscope.probes.hooks.retain_grad import RetainGrad, holder_of
from gradscope.torch_internals.dynamo import skip, skip_methods
from gradscope.torch_internals.find import Replacement
from gradscope.torch_internals.guards import no_function

# The columns of `firing`, the norms as the looks that know them, on a device when the backward is over.
Fired = tuple[int, int | None, int, GradientSnapshot | None, GradientSnapshot | None, float | None]


class HookRecorder(Watcher):
    """Records registrations at once, and firings in each backward."""

    probe = "hooks"

    def __init__(self, context: Context) -> None:
        self._retaining = context.options.has("retain_grad")
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._names, self._nodes, self._faults = context.names, context.get(node_creation), context.faults
        self._forward = ForwardHooks(context)
        self._numbers = itertools.count()
        self._registered: dict[tuple[int, int], Registration] = {}  # (dict, key) -> registration
        self._unwritten: list[Registration] = []
        self._retained: list[Registration] = []
        self._fired: dict[int, list[Fired]] = {}
        self._measured = context.options.detail.has(Detail.FULL)  # what each does to the norm, and the time it takes
        self._running: list[BackwardCall] = []
        self._observers = Observers(context, self._measured, self._innermost, self._saw)
        self._off = False
        context.faults.switch(self.probe, self._switch_off)
        context.events.tensor_forgotten.append(self._forget)

    # registering

    def __enter__(self) -> HookRecorder:
        skip_methods(HookRecorder)
        skip_methods(Observers)
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
            made_by = frame.f_code.co_name
            kind = KINDS.get(made_by)
            if made_by in REGISTERED_BY:
                self._forward.note(handle.id, hooks_dict, self._stacks.take(frame.f_back, self._threads.current.base))
            if kind is None or is_mechanism(frame):
                return
            names = frame.f_locals
            hook, owner = names.get("hook"), names.get("self")
            above = calling(frame, "register_multi_grad_hook")
            if above is not None:
                kind, hook = "multi_grad", above.f_locals.get("fn", hook)
            registration = self._of_module(hook) or self._register(kind, hook, owner, frame)
            registration.shared = None if above is None else shared(above.f_locals)
            registration.key, registration.hooks = handle.id, weakref.ref(hooks_dict)
            self._registered[id(hooks_dict), handle.id] = registration
            if not registration.copied:
                self._observers.expect(hooks_dict, registration)
        except Exception as error:
            self._faults.note(self.probe, error)

    def _of_module(self, hook: Any) -> Registration | None:
        """For what torch makes of a module's old-style hook: that hook, at one more place."""
        module = wrapped_by(hook)
        known = [] if module is None else self._module_hooks(module, "_backward_hooks")
        found = next((one for original, one in known if original is hook.hook), None)
        return None if found is None else again(found, self._nodes.youngest())

    def _register(self, kind: str, hook: Any, owner: Any, frame: Any) -> Registration:
        registration = Registration()
        registration.number, registration.kind = next(self._numbers), kind
        registration.name = getattr(hook, "__qualname__", type(hook).__qualname__)
        registration.stack = self._stacks.take(frame.f_back, self._threads.current.base)
        registration.uid, registration.hint, registration.leaf, registration.on = 0, self._nodes.youngest(), None, ""
        registration.shared, registration.key, registration.hooks = None, 0, gone
        registration.looked, registration.since = False, None
        registration.copied, registration.repeated = kind.startswith("module"), False
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

    def _forget(self, tensor: torch.Tensor) -> None:
        """A tensor is about to become another, which has other hooks: those of its old self keep its name."""
        for one in (*self._registered.copy().values(), *self._unwritten, *self._retained):
            if one.leaf is not None and one.leaf() is tensor:
                one.on, one.leaf = self._names.leaf(tensor), None
            if one.kind == "retain_grad" and one.hooks() is tensor:
                one.hooks = gone

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
            return self._observe(call)
        self._find_nodes(call)
        self._look_at_registrations(call)
        self._write_registrations()
        self._say_where(call)
        self._observe(call)

    def _observe(self, call: BackwardCall) -> None:
        if not call.compiled:  # else our hooks would become part of what is compiled
            found = (one.hooks() for one in list(self._registered.values()) if not one.copied)
            dicts = {id(hooks): hooks for hooks in found if hooks is not None}
            self._observers.place(call.number, dicts.values(), self._registered)

    def _look_at_registrations(self, call: BackwardCall) -> None:
        """Say which hooks were found in their places for the first time, and which are not there any more."""
        for place, one in self._registered.copy().items():
            if is_gone(one):
                del self._registered[place]
                self._say_since(one, call.number)
        for one in [one for one in self._retained if is_gone(one)]:
            self._retained.remove(one)
            self._say_since(one, call.number)
        for one in (*self._registered.values(), *self._retained):
            if one.since is None and not one.looked and is_registered(one):
                one.since = call.number
                self._say_since(one, None)
            one.looked = True

    def _say_since(self, one: Registration, until: int | None) -> None:
        if one.since is not None and not one.repeated:
            self._sink.add("hook_since", (one.number, one.since, until))

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Take the observers away and write what fired."""
        self._observers.settle(call)
        self._observers.take_away(call.number)
        fired = self._fired.pop(call.number, [])
        self._sink.add_all("firing", ((call.number, at, *_row(one)) for at, one in enumerate(fired)))

    def forget(self, call: BackwardCall) -> None:
        """Take away what is left of a call."""
        self._observers.take_away(call.number)
        self._fired.pop(call.number, None)
        if call in self._running:
            self._running.remove(call)

    def _switch_off(self) -> None:
        self._off = self._observers.off = True

    def _innermost(self) -> BackwardCall | None:
        """The call that the running thread works for."""
        return self._threads.tasks.running(self._threads.current) or (self._running[-1] if self._running else None)

    def _saw(
        self,
        one: Registration,
        turn: Turn,
        changed: int,
        now: GradientSnapshot | None,
        arguments: tuple[Any, ...],
    ) -> None:
        """A hook has run."""
        if now is not None and one.shared is not None and not one.shared.ran():
            return
        if one.kind == "node_post" and len(arguments) == 1:
            one.kind = "node_pre"
            self._unwritten.append(one)
        if changed == RAISED:
            turn.call.stopped = turn.node
        if turn.call.number in self._fired:
            before = turn.look
            took = now.began - before.ended if self._measured and now is not None else None
            self._fired[turn.call.number].append((one.number, turn.node, changed, before, now, took))

    def _around(self, module: Any, dictionary: str, hooks: Any) -> Any:
        """A module's backward hooks are copied at its forward: place the observers in the copy."""
        if self._off:
            return hooks
        try:
            known = self._module_hooks(module, dictionary)
            due: Due = [(number, _take(known, hook)) for number, hook in enumerate(hooks)]
            if all(registration is None for _, registration in due):
                return hooks
            around: list[Any] = []
            around.append(_for_a_module(self._observers.before(id(around), lambda: list(due))))
            for number, hook in enumerate(hooks):
                around += [hook, _for_a_module(self._observers.behind(id(around), number))]
            return around
        except Exception as error:
            self._faults.note(self.probe, error)
            return hooks

    def _module_hooks(self, module: Any, dictionary: str) -> list[tuple[Any, Registration]]:
        """The hooks of a module that were seen being registered, in the order in which torch copies them."""
        dicts = (getattr(torch.nn.modules.module, f"_global{dictionary}"), getattr(module, dictionary))
        found = []
        for hooks in dicts:
            for key, hook in hooks.items():
                registration = self._registered.get((id(hooks), key))
                if registration is not None:
                    found.append((hook, registration))
        return found

    def next_number(self) -> int:
        """The number of a hook that another probe sees."""
        return next(self._numbers)

    def acted(self, number: int, node: Any) -> None:
        """A hook that another probe sees has acted, at a node."""
        call, token = self._innermost(), token_of(node)
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
        for one in self._retained:
            one.uid = holder_of(one.hooks()) or one.uid  # an in-place edit takes it along, to the tensor's new node
        for one in filter(is_registered, (*self._registered.values(), *self._retained)):
            leaf = None if one.leaf is None else one.leaf()
            node = call.walked.numbers.get(one.uid) if leaf is None else call.walked.leaves.get(id(leaf))
            if node is not None:
                self._sink.add("hook_on", (call.number, one.number, node))

    def _find_nodes(self, call: BackwardCall) -> None:
        """Node hooks do not say which node they hang on: try the nodes, those made near the registration first."""
        unknown = [
            one for one in [*self._registered.values()] if not one.uid and (one.kind in ON_A_NODE or one.repeated)
        ]
        lost = {id(one.hooks()): one for one in unknown}
        for one in list(lost.values()):
            live = ((token_of(node), node) for node in call.live)
            near = sorted(
                ((abs(token.uid - one.hint), token.uid, node) for token, node in live if token), key=lambda at: at[:2]
            )
            for _, uid, node in near:
                kind = holds(node, one.hooks())
                if kind is not None:
                    self._hangs_on(one, uid, kind, node)
                    break

    def _hangs_on(self, one: Registration, uid: int, kind: str, node: Any) -> None:
        one.uid = uid
        if not one.repeated:  # else it is a module's
            one.kind, one.on = kind, node.name()
            self._unwritten.append(one)


def _row(fired: Fired) -> tuple[int, int | None, int, float | None, float | None, float | None]:
    number, node, changed, before, after, took = fired
    norms = before.norm if before else None, after.norm if after else None
    return number, node, changed, *norms, took


def _take(known: list[tuple[Any, Registration]], hook: Any) -> Registration | None:
    """The registration of a hook, which may have been registered more than once: the first that is left."""
    found = next((one for one in known if one[0] is hook), None)
    if found is None:
        return None
    known.remove(found)
    return found[1]


def _for_a_module(observe: Callable[..., None]) -> Callable[..., None]:
    """Module hooks get (module, grad_input, grad_output) or (module, grad_output)."""

    def observe_module(module: Any, *gradients: Any) -> None:
        observe(*gradients, None)

    skip(observe_module)
    return observe_module
