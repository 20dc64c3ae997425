"""GS785: what the other ranks are sent has a graph, and what comes back of it has none."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_COLLECTIVES = "c10d."
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
        them does.
    """
    flow, said = dataflow(case), set[Site | None]()
    for at, operation in enumerate(flow.operations):
        name = operation.operation.name
        is_gather = name.startswith(_COLLECTIVES) and base_name(name) in _GATHERS
        if is_gather and operation.site not in said and _loses_a_gradient(flow, at, operation):
            said.add(operation.site)
            yield Cause(
                f"{base_name(name).strip('_')} gives copies without a graph: no gradient comes back through what is "
                "gathered here to what this rank has put in",
                operation.site,
                certain=False,
                op=name,
            )


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
