"""Sees where NaN and Inf are born: sums each operator's result, and looks closer only when the sum is not finite.

Once something has turned up, every operator of the step is looked at, so that it is known which birth a value that is
not finite descends from, what hid it, and whether it reached a loss or a gradient. Only these are faults: a mask of
-inf is none.
"""

from __future__ import annotations

from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.nonfinite.device import NonfiniteOnDevice
from gradscope.probes.nonfinite.graph_search import search_graph
from gradscope.probes.nonfinite.leaps import VAST, GradientLeaps
from gradscope.probes.nonfinite.living_origins import LivingOrigins
from gradscope.probes.nonfinite.operator_risk import ALWAYS, CLOSELY, FORWARD, reads_no_values
from gradscope.probes.nonfinite.operator_signs import OperatorSigns
from gradscope.probes.nonfinite.origins import (
    BORN,
    ENTERED,
    GRADIENT,
    ROOT,
    NonfiniteOrigin,
    OriginWriter,
    node_number,
)
from gradscope.probes.tensors.accelerators import is_far
from gradscope.probes.tensors.is_leaf import is_leaf
from gradscope.probes.tensors.metadata import storage_of
from gradscope.probes.tensors.value_samples import first, is_plain, named, several, tensors_of, value_sample
from gradscope.torch_internals.dynamo import is_taken_down, skip, skip_methods
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled
from gradscope.torch_internals.tensors import is_wrapped

OFF = ALWAYS + 1
_ENOUGH = 3  # backward calls that were reached, after which the cause is long known
_MOST = 64  # events of one step
_HUGE = 1e10  # a loss after which the next step is looked at closely
_FEW = 4  # leaves whose gradients are all asked
_CLOSE, _LATER = 64, 16  # steps looked at closely while a NaN lives on in memory, and every so many after these
_PATIENCE = 8  # backward calls that leave their graph alive, after which a step counts as over


class NonfiniteOnHost(Watcher):
    """`looking` is the least look that an operator must have to be looked at now."""

    probe = "non-finite values"

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._names, self._faults = context.names, context.faults
        self._steps, self._written_origins = context.steps, OriginWriter(context.sink, context.steps.before)
        self._leaps = GradientLeaps(context, self._written_origins)
        self.on_device = NonfiniteOnDevice(context, self._written_origins, _HUGE)
        self.looking = CLOSELY  # in the first step, which shows most faults
        self.looked = 0  # results so far
        self._whole = True  # every operator of this step was looked at
        self._armed = False  # the next step is to be looked at
        self.alarmed = False  # this step's loss was huge or not finite
        self.signs = OperatorSigns(context)
        self._operators = context.operators
        self._events: dict[tuple[int, int, int], NonfiniteOrigin] = {}
        self._origins = LivingOrigins()
        self._leaves: dict[int, int] = {}  # those of the last backward, by identity
        self._reached = self._age = self._next = self._after = 0

    def __enter__(self) -> NonfiniteOnHost:
        skip_methods(NonfiniteOnHost)
        skip(is_taken_down)
        return self

    def __exit__(self, *error: object) -> None:
        """What was born since the last backward may be why there is none."""
        for event in list(self._events.values()):
            self._written_origins.write(event)
        self.on_device.finish()
        self._origins.release()
        self.signs.write()

    def look(
        self, operator: Any, result: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], frame: Any
    ) -> None:
        """Look at the result of an operator that was called from a frame of the program, or from none."""
        try:
            if operator.sign is not None and (operator.sign_at_rest or torch.is_grad_enabled()):
                operator.sign(result, arguments, frame)
            close = self.looking <= CLOSELY
            if not close and operator.harmless is not None and operator.harmless(arguments) and not is_far(result):
                return
            if is_taken_down():
                return
            if operator.copies and not close and not _comes_from_host(result, arguments):
                return
            self.looked += 1
            if result is None:
                self._look_at_written(operator, arguments, keywords, frame)
                return
            has_several = type(result) is tuple or (close and type(result) is list)
            for tensor in (result if close else result[:1]) if has_several else (result,):
                if is_plain(tensor):
                    if tensor.is_floating_point() or (close and tensor.is_complex()):  # as between two transforms
                        self._look_at(operator, tensor, arguments, keywords, frame)
                elif is_far(tensor) and type(result) is not list:  # lists are an optimizer's
                    near = self._origins if close else None
                    self.on_device.look(operator, tensor, arguments, keywords, near, frame)
        except Exception as error:
            self._faults.note(self.probe, error)

    def _look_at(
        self, operator: Any, tensor: torch.Tensor, arguments: tuple[Any, ...], keywords: dict[str, Any], frame: Any
    ) -> None:
        """Sum a result up, and look closer at what is not finite or vast."""
        total = torch.sum(tensor).item()
        if total - total != 0 or (self.looking <= CLOSELY and self._origins):
            thread = self._threads.current
            if self._steps.recorded and not thread.busy:
                self._closer(thread, operator, tensor, arguments, keywords, frame)
        elif type(total) is float and not -VAST < total < VAST:
            self._leaps.look(operator, tensor, arguments, keywords, frame)

    def _look_at_written(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], frame: Any) -> None:
        """Look at what an operator on lists has written into its first, tensor by tensor."""
        far = []
        for position, tensor in enumerate(arguments[0] if arguments else ()):
            if is_far(tensor):
                far.append(tensor)
            elif is_plain(tensor) and tensor.is_floating_point():
                total = torch.sum(tensor).item()
                thread = self._threads.current
                if total - total != 0 and self._steps.recorded and not thread.busy:
                    alone = tuple(_at(one, position) for one in arguments)
                    self._closer(thread, operator, tensor, alone, keywords, frame)
        if far:
            self.on_device.look_at_all(operator, far, self.looking <= CLOSELY, frame)

    def is_calm(self) -> bool:
        """Whether nothing has turned up in this step, and no device is asked."""
        return self.looking >= ALWAYS and not (self.alarmed or self._events or self.on_device.awake)

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """The loss is at hand, and so are the leaves."""
        self._leaves = call.walked.leaves if call.walked is not None else {}
        with unprofiled(), no_dispatch(), no_autograd():
            for output in call.outputs:
                if is_plain(output) and not is_wrapped(output):
                    self._root(call, output)
        self.on_device.before(call, self.looking != OFF)
        if self.looking == FORWARD:
            self.looking = ALWAYS

    def _root(self, call: BackwardCall, output: Any) -> None:
        self.alarmed = False
        total = output.item() if output.numel() == 1 else torch.sum(output.detach()).item()
        if total - total != 0:
            self.alarmed = True
            origin = self._origins.of(output) or self.on_device.first()
            if origin is not None:
                self._origins.put(output, origin)
            if origin is None or (origin.kind == ENTERED and not self._whole):
                self._dissect(call, output)
            self._arrived(call, ROOT, 0, output)
        elif abs(total) > _HUGE:
            self._armed = self.alarmed = True

    def _dissect(self, call: BackwardCall, output: Any) -> None:
        """Ask the graph, when no operator that was looked at is to blame."""
        found = None if bool(torch.isfinite(output).all()) else search_graph(call.live, self._arguments)
        token = None if found is None else token_of(found.node)
        if found is None or token is None:
            return
        older = self._origins.of(found.tensor)
        if older is not None:
            self._origins.put(output, older)
            return
        event = self._written_origins.event(BORN if found.argument is None else ENTERED, token.operator, token.stack)
        event.step, event.thread, event.call = self._steps.current, token.thread, token.call
        event.backward = event.node = None
        event.evidence = found.evidence
        if found.argument is not None:
            event.argument = self._named(found.argument, found.tensor)
        self._events[event.operator, event.stack, -1] = event
        self._origins.put(output, event)

    def _arguments(self, node: Any) -> list[str]:
        """The names of the tensors that a node's operator was given."""
        token = token_of(node)
        for known in list(self._operators.values()):
            if token is not None and known.name == token.operator:
                schema = known.operator._schema
                return [one.name for one in schema.arguments if str(one.type) in ("Tensor", "Optional[Tensor]")]
        return []

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """The gradients are at hand."""
        if call.outer is not None:
            return
        if self._events and call.failed:
            for event in list(self._events.values()):
                self._written_origins.write(event)
        elif call.accumulate and not call.failed and self.looking != OFF:
            thread.busy = True
            try:
                with unprofiled(), no_function(), no_dispatch(), no_autograd():
                    if self._events or self._is_bad(call):
                        self._gradients(call)
            finally:
                thread.busy = False
        if self.on_device.awake and self.looking != OFF:
            self.on_device.after(call, call.failed)
        self._age += 1
        if self.looking == ALWAYS:
            self.looking = FORWARD
        if self._armed or (call.accumulate and not call.keep_graph) or self._age > _PATIENCE:
            self._over()
        if self.on_device.awake:
            self.on_device.send()

    def forget(self, call: BackwardCall) -> None:
        """The call is over, whatever became of it."""
        self.on_device.forget(call)

    def _over(self) -> None:
        """A step is over: what was born in it has done its harm, or none."""
        self._events.clear()
        meets = self._origins.step_is_over() and self._meets_often()
        self._age = 0
        if self.on_device.awake:
            self.on_device.over()
        lineage = self.on_device.lineage
        self._armed, lineage.huge = self._armed or lineage.huge, False
        reached = self._reached + lineage.reached
        self.looking = OFF if reached >= _ENOUGH else CLOSELY if self._armed or meets else FORWARD
        self._whole = self.looking == CLOSELY
        self._armed = False

    def _meets_often(self) -> bool:
        """Whether the next step is looked at because a NaN lives on in memory: the first ones are, and some later."""
        self._after += 1
        return self._after <= _CLOSE or self._after % _LATER == 0

    def _is_bad(self, call: BackwardCall) -> bool:
        """Whether a gradient is not finite, though nothing was seen to make it so: of many, two leaves are asked."""
        leaves = list(call.walked.leaves) if call.walked is not None else []
        if len(leaves) > _FEW:
            self._next += 1
            leaves = [leaves[-1], leaves[self._next % len(leaves)]]  # most nodes lead to the deepest
        for identity in leaves:
            variable = self._names.tensor(identity)
            gradient = None if variable is None else variable.grad
            if is_plain(gradient) and gradient.is_floating_point():
                total = torch.sum(gradient).item()
                if total - total != 0:
                    return True
        return False

    def _gradients(self, call: BackwardCall) -> None:
        for identity in call.walked.leaves if call.walked is not None else ():  # a nested call had other ones
            variable = self._names.tensor(identity)
            gradient = None if variable is None else variable.grad
            if variable is not None and is_plain(gradient) and not bool(torch.isfinite(gradient).all()):
                self._arrived(call, GRADIENT, self._sink.string(self._names.leaf(variable)), gradient)

    def _arrived(self, call: BackwardCall, where: str, name: int, tensor: Any) -> None:
        """Something that is not finite has reached a loss or a gradient."""
        if bool(torch.isfinite(tensor).all()):
            return  # only its sum was too large
        nan, inf = int(torch.isnan(tensor).sum()), int(torch.isinf(tensor).sum())
        self._written_origins.arrived(call.number, where, name, self._origins.of(tensor), nan, inf)
        if where == ROOT:
            self._reached += 1

    def _closer(
        self, thread: Thread, operator: Any, result: Any, arguments: tuple[Any, ...], keywords: Any, frame: Any
    ) -> None:
        """Where what is not finite comes from; in a step under suspicion, also what hides it."""
        given = list(named(operator.operator, arguments, keywords))
        written = {name for _, _, name in operator.writes}
        if bool(torch.isfinite(result).all()):
            self._hidden(thread, operator, given, written, frame)
            return
        nan = bool(torch.isnan(result).any())
        source, name, tensor = self._source(given, written, nan)
        if source is None:
            if tensor is None and any(is_far(one) for _, value in given for one in several(value)):
                source = self.on_device.first()  # it has been copied to the host: the device is done
                if source is not None:
                    self._origins.put(result, source)
                return
            if tensor is None and not nan and _is_told(given):
                return
            if tensor is not None and not nan:
                return  # an Inf from outside: a mask, as far as anybody knows
            entered = tensor is not None and bool(torch.isnan(tensor).any())
            source = self._event(thread, operator.name, frame, ENTERED if entered else BORN)
            if source is None:
                return
            if not source.evidence:
                source.wanted = entered or _is_told(given)
                source.evidence = value_sample(
                    operator.operator, result, given, written, first(~torch.isfinite(result))
                )
                source.argument = self._named(name, tensor) if entered and tensor is not None else ""
        if len(self._origins) < _MOST * _MOST:
            self._origins.put(result, source)

    def _source(
        self, given: list[tuple[str, Any]], written: set[str], nan: bool
    ) -> tuple[NonfiniteOrigin | None, str, torch.Tensor | None]:
        """The event that made an argument not finite, with that argument; of several, one with a NaN, a known one."""
        best: tuple[tuple[bool, bool], NonfiniteOrigin | None, str, torch.Tensor | None] = (
            (False, False),
            None,
            "",
            None,
        )
        for name, value in given:
            for tensor in tensors_of(value):
                known = self._origins.reason(tensor)
                if name in written:  # what it held is gone
                    bad, holds_nan = known is not None, nan
                else:
                    bad, holds_nan = not bool(torch.isfinite(tensor).all()), bool(torch.isnan(tensor).any())
                rank = (holds_nan, known is not None)
                if bad and (best[3] is None or rank > best[0]):
                    best = (rank, known, name, tensor)
        return best[1:]

    def _hidden(
        self, thread: Thread, operator: Any, given: list[tuple[str, Any]], written: set[str], frame: Any
    ) -> None:
        """A finite result of something that is not: an operator that hides it."""
        if reads_no_values(operator.operator):
            return
        for name, value in given:
            for tensor in tensors_of(value) if name not in written else ():
                event = self._origins.of(tensor)
                if event is not None and not event.masked and not bool(torch.isfinite(tensor).all()):
                    event.masked, event.masked_by = operator.name, self._stacks.take(frame, thread.base)

    def _event(self, thread: Thread, operator: int, frame: Any, kind: str) -> NonfiniteOrigin | None:
        """The event of this step for an operator on a line, new or known; None when there are too many."""
        call = thread.backward
        stack = self._stacks.take(frame, thread.base)
        node = None if call is None else node_number(call)
        key = (operator, stack, -1 if node is None else node)
        known = self._events.get(key)
        if known is not None or len(self._events) >= _MOST:
            return known
        event = self._events[key] = self._written_origins.event(kind, operator, stack)
        event.step, event.thread, event.call = self._steps.current, thread.number, thread.call
        event.backward, event.node = None if call is None else call.number, node
        self.looking = min(self.looking, CLOSELY)
        return event

    def _named(self, name: str, tensor: torch.Tensor) -> str:
        """What the program calls an argument: the name of the leaf whose storage it shares, or the argument's."""
        if tensor.requires_grad and is_leaf(tensor):
            return self._names.leaf(tensor)
        storage = storage_of(tensor)[0]
        for identity in list(self._leaves):
            variable = self._names.tensor(identity)
            if variable is not None and storage_of(variable)[0] == storage:
                return self._names.leaf(variable)
        return name


def _at(argument: Any, position: int) -> Any:
    """What an operator on lists takes together with the tensor at a position of its first."""
    if not isinstance(argument, (list, tuple)):
        return argument
    return argument[position] if position < len(argument) else ()


def _comes_from_host(result: Any, arguments: tuple[Any, ...]) -> bool:
    return is_far(result) and any(is_plain(one) for one in arguments[:2])


def _is_told(given: list[tuple[str, Any]]) -> bool:
    """Whether the operator was given it as a plain number: then nobody is surprised."""
    return any(type(value) is float and value - value != 0 for _, value in given)
