"""GS785: what the other ranks are sent has a graph, and what comes back of it has none."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site, user_frames

_COLLECTIVES = "c10d."
_DETACHES = ("detach", "detach_", "alias")
_GATHERS = ("allgather_", "_allgather_base_", "allgather_coalesced_", "allgather_into_tensor_coalesced_", "gather_")


def gathered_without_gradient(case: Case) -> Iterator[Cause]:
    """What it flags:
        all_gather() of a tensor with a graph, whose results go into a loss without one.
    Why:
        The collectives of torch.distributed record no graph: what comes back of this rank's own tensor is a copy. A
        contrastive loss over gathered features then trains through one side of the product only, and no error says so.
    Wrong:
        parts = [torch.empty_like(z) for _ in range(world)]
        dist.all_gather(parts, z)
        loss = contrast(query @ torch.cat(parts).T)
    Right:
        parts = torch.distributed.nn.functional.all_gather(z)
        loss = contrast(query @ torch.cat(parts).T)
    Do instead:
        Gather by torch.distributed.nn.functional.all_gather(z), or put this rank's own tensor back: parts[rank] = z. If
        no gradient is meant to go there, give z.detach().
    How it is found:
        The collective ran with gradients on and was given what requires grad, by itself and not by its .data; all of
        its results are used in numbers that go into a loss, together with other values that require grad, and none of
        them does. Or one line detached and gathered two tensors with a graph for the same loss, and of one of them this
        rank's own was put back among the results; nothing has a part in the graph of the other.
    """
    flow, said = dataflow(case), set[Site | None]()
    for at, operation in enumerate(flow.operations):
        name = operation.operation.name
        if _is_gather(operation) and operation.site not in said and _loses_a_gradient(flow, at, operation):
            said.add(operation.site)
            yield Cause(
                f"{base_name(name).strip('_')} gives copies without a graph: no gradient comes back through what is "
                "gathered here to what this rank has put in",
                operation.site,
                certain=False,
                op=name,
            )
    yield from _told(flow, said)


def _told(flow: RecordedDataflow, said: set[Site | None]) -> Iterator[Cause]:
    """The calls that gather what is detached, of which this rank's own is not put back, as it is for another."""
    for lost, kept in _not_put_back(flow):
        operation = flow.operations[lost]
        site, beside = _asked_at(operation), _asked_at(flow.operations[kept])
        if site not in said:
            said.add(site)
            yield Cause(
                "what is gathered by this is detached, and this rank's own tensor, whose graph nothing else uses, is "
                "not put back among the results, as that of another is: no gradient comes to it",
                site,
                () if beside is None or beside == site else (Related("called_at", beside, "put back behind this"),),
                certain=False,
                op=operation.operation.name,
                advice="put this rank's own tensor back for both: parts[rank] = z; compute what is meant to get no "
                "gradient under torch.no_grad()",
            )


@dataclass(frozen=True, slots=True)
class _Sent:
    """A gather of what was detached: the backward before, its place, that of the detach, the tensor with a graph."""

    since: int | None
    gather: int
    detach: int
    source: int


def _not_put_back(flow: RecordedDataflow) -> Iterator[tuple[int, int]]:
    """Gathers whose own part is not put back, each with one of its line, before the same backward, where it is."""
    groups: dict[tuple[int | None, Site | None, Site | None], list[_Sent]] = defaultdict(list)
    for one in _detached(flow):
        gather, detach = flow.operations[one.gather], flow.operations[one.detach]
        groups[one.since, gather.site, detach.site].append(one)
    for ones in groups.values():
        kept = [one for one in ones if _is_put_back(flow, one)]
        yield from ((one.gather, kept[0].gather) for one in ones if kept and one not in kept and _is_lost(flow, one))


def _detached(flow: RecordedDataflow) -> Iterator[_Sent]:
    """The gathers of what was detached from a graph."""
    since = None
    for at, operation in enumerate(flow.operations):
        since = since if operation.backward is None else operation.backward
        if _is_gather(operation):
            sent = {one.tensor for one in operation.reads if one.tensor not in operation.makes}
            for detach in (flow.maker(one, at) for one in sent if len(sent) == 1):
                made = None if detach is None else flow.operations[detach]
                if detach is not None and made is not None and base_name(made.operation.name) in _DETACHES:
                    yield from (_Sent(since, at, detach, one.tensor) for one in made.reads if one.requires_grad)


def _is_put_back(flow: RecordedDataflow, sent: _Sent) -> bool:
    """Whether anything reads what was gathered, or a view of it, together with the tensor that has the graph."""
    views = _views(flow, sent)
    readers = {at for one in views for at in flow.readers.get(one, ())}
    return any(at > sent.gather for at in readers.intersection(flow.readers.get(sent.source, ())))


def _is_lost(flow: RecordedDataflow, sent: _Sent) -> bool:
    """Whether what was gathered goes into a loss beside what has a graph, and the graph of what was sent is unused."""
    makes, after = flow.operations[sent.gather].makes, sent.gather
    unused = _read_beside(flow, sent) == {sent.detach}
    if not unused or not all(_stays_without(flow, one, after) for one in makes):
        return False
    if all(_joins_a_graph(flow, one, after) for one in makes):
        return True
    wholes = [one for one in _views(flow, sent) if _size(flow, one) >= sum(_size(flow, each) for each in makes)]
    return all(_stays_without(flow, one, after) for one in wholes) and any(
        _joins_a_graph(flow, one, after) for one in wholes
    )


def _views(flow: RecordedDataflow, sent: _Sent) -> set[int]:
    """What was gathered, and what else has its memory: the rows may be parts of one tensor that was made before."""
    makes = flow.operations[sent.gather].makes
    storages = {flow.tensors[one].storage for one in makes if one in flow.tensors}
    return {*makes, *(one for one, tensor in flow.tensors.items() if tensor.storage in storages)}


def _read_beside(flow: RecordedDataflow, sent: _Sent) -> set[int]:
    """What reads the tensor that has the graph, but for what only makes room of its shape and type."""
    readers = flow.readers.get(sent.source, ())
    return {at for at in readers if not base_name(flow.operations[at].operation.name).startswith("new_")}


def _size(flow: RecordedDataflow, tensor: int) -> int:
    known = flow.tensors.get(tensor)
    return 0 if known is None else math.prod(known.type.shape)


def _asked_at(operation: FlowOperation) -> Site | None:
    """The line that calls the function which gathers, else that which gathers."""
    frames = user_frames(operation.operation.stack)
    outer = (one for one in frames if operation.site is not None and not one.is_in_function_of(operation.site))
    return next(outer, operation.site)


def _is_gather(operation: FlowOperation) -> bool:
    name = operation.operation.name
    return name.startswith(_COLLECTIVES) and base_name(name) in _GATHERS


def _loses_a_gradient(flow: RecordedDataflow, at: int, operation: FlowOperation) -> bool:
    sent = [one for one in operation.reads if one.requires_grad and one.tensor not in operation.makes]
    if not sent or any(one.leaf for one in sent) or not operation.makes:
        return False
    return all(_stays_without(flow, one, at) and _joins_a_graph(flow, one, at) for one in operation.makes)


def _stays_without(flow: RecordedDataflow, tensor: int, after: int) -> bool:
    """Whether nothing that has a graph is written into a tensor before it is read."""
    return not any(read.requires_grad for at, read in flow.met(tensor) if at > after)


def _joins_a_graph(flow: RecordedDataflow, tensor: int, after: int) -> bool:
    """Whether the values of a tensor are combined with what has a graph, on the way to a loss."""
    waiting, seen = [(tensor, after)], {tensor}
    while waiting:
        one, since = waiting.pop()
        for at in flow.readers.get(one, ()):
            operation = flow.operations[at]
            if at <= since or operation.backward is not None or not operation.operation.grad:
                continue
            made = [each for each in operation.makes if each in flow.useful and not flow.is_whole(each)]
            if made and any(read.requires_grad for read in operation.reads):
                return True
            waiting += [(each, at) for each in made if each not in seen]
            seen.update(made)
    return False
