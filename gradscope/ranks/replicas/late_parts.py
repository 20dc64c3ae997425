"""Parameters that a module was given after DistributedDataParallel had wrapped it, which has no hook on them.

One of several heads that take turns may be in no two looks: then that nothing as large is exchanged says the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import prod
from pathlib import Path

from gradscope.model.flow import GradientState
from gradscope.model.operation import Operation
from gradscope.model.site import Origin, Site, user_site
from gradscope.ranks.core.copies import Replicas, is_averaged, looks_of, replicas_of, values_at
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.gradients.mean_losses import have_own_losses
from gradscope.ranks.source.sending import sent_outside
from gradscope.ranks.source.ways import is_collective, ways_of
from gradscope.store.reader import Recording, load

ADDED = "DistributedDataParallel averages no gradient of a parameter that came after it was made"
_BUILDS = ("torch/nn/modules/", "torch/nn/init.py")
_MAKES = frozenset(("__init__", "reset_parameters"))


def added_at(recording: Recording, leaf: str, wrapped: Site) -> Site | None:
    """The line that built the last layer between the wrap and the first backward that came to a parameter, which no
    operator read in a step before; of one in a helper, the line of the wrap's function that calls this."""
    reached = _first_reached(recording, leaf)
    if reached is None or _is_read_before(recording, leaf, reached):
        return None
    ways = (way for backward, way in sorted(ways_of(recording).items()) if backward <= reached)
    ran = list(chain.from_iterable(ways))
    wraps = [place for place, one in enumerate(ran) if wrapped in one.stack]
    built = [one for one in ran[wraps[-1] + 1 :] if _builds(one)] if wraps else []
    if not built:
        return None
    own = [site for site in built[-1].stack if site.origin is Origin.USER]
    return next((site for site in own if site.is_in_function_of(wrapped)), user_site(built[-1].stack))


def _builds(one: Operation) -> bool:
    """Whether an operator gives the parameters of a new layer their first numbers."""
    return any(any(place in site.file for place in _BUILDS) and site.function in _MAKES for site in one.stack)


def _first_reached(recording: Recording, leaf: str) -> int | None:
    """The first backward whose graph has a leaf."""
    numbers = (call.number for call in recording.backwards() if call.number in recording.graph_sizes())
    return next((at for at in numbers if any(node.leaf == leaf for node in recording.graph(at).nodes)), None)


def _is_read_before(recording: Recording, leaf: str, reached: int) -> bool:
    """Whether a forward of an earlier step reads a parameter, as it does one that is frozen."""
    own = {one.number for one in recording.flow_tensors() if one.parameter and one.leaf == leaf}
    ended = -1
    for one in recording.flow():
        ended = ended if one.backward is None else max(ended, one.backward)
        if one.backward is None and ended + 1 < reached and any(each.tensor in own for each in one.reads):
            return True
    return False


def unseen_parts(ranks: Ranks) -> Iterator[tuple[str, Told, Site]]:
    """The first such parameter of each set of replicas that no two looks have, which a rank steps by the gradient of
    its own loss; why, the line that adds it, and that of the wrap."""
    for replicas in replicas_of(ranks):
        number = replicas.members[0]
        told = ranks.averaging[number]
        if replicas.leaves is not None or told.wrapped is None or not told.groups or not _learn_apart(ranks, replicas):
            continue
        with load(Path(ranks.rank(number).path)) as recording:
            for own in _stepped(recording):
                leaf = ranks.own(number, own)
                if own in told.leaves or not is_averaged(ranks, replicas, leaf) or _is_seen(ranks, replicas, leaf):
                    continue
                site = added_at(recording, own, told.wrapped)
                if site is not None and not _is_exchanged(recording, own):
                    yield leaf, (ADDED, site), told.wrapped
                    break


def _learn_apart(ranks: Ranks, replicas: Replicas) -> bool:
    """Whether each has samples of its own, and none averages gradients but by the wrapper."""
    averaging = (ranks.averaging[number] for number in replicas.members)
    return not any(one.by_hand or one.in_hooks for one in averaging) and have_own_losses(ranks, replicas)


def _stepped(recording: Recording) -> list[str]:
    """The parameters that an optimizer is about to step by a gradient."""
    held = (one for look in recording.optimizer_looks() for one in look.parameters)
    return list(dict.fromkeys(one.name for one in held if one.state is GradientState.VALUES))


def _is_seen(ranks: Ranks, replicas: Replicas, leaf: str) -> bool:
    """Whether looks at which it was compared say more."""
    looks = looks_of(ranks.weights, replicas)
    return sum(leaf in values_at(ranks.weights, [look]) for look in looks) > 1


def _is_exchanged(recording: Recording, leaf: str) -> bool:
    """Whether, once a backward has come to it, anything of a parameter's size is sent outside of backward calls, or
    something in its node."""
    size = next((prod(one.type.shape) for one in recording.flow_tensors() if one.parameter and one.leaf == leaf), 0)
    reached = _first_reached(recording, leaf)
    sent = (one for backward, one in sent_outside(recording) if reached is not None and backward > reached)
    if any(sum(prod(each.shape) for each in one.types) >= size for one in sent):
        return True
    for backward in recording.graph_sizes():
        nodes = recording.graph(backward).nodes
        ran = (node for node, name in recording.operators(backward) if is_collective(name))
        if any(node is not None and nodes[node].leaf == leaf for node in ran):
            return True
    return False
