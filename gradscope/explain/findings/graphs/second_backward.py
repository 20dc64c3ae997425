"""A graph that is run again: GS711 after it was freed, GS712 because it was carried over from step to step."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.memory.carried_state import (
    built_before_the_loop,
    cache_around,
    handed_in_at,
    parametrizations_cached,
    received_at,
    thrown_away_detach,
)
from gradscope.explain.deductions.memory.half_detached import half_detached, sibling_detached
from gradscope.explain.deductions.memory.inplace_writes import REFUSED, refused, write_of
from gradscope.explain.deductions.memory.kept_by_a_call import kept_after, put_away_at
from gradscope.explain.deductions.memory.kept_for_rounds import (
    carried_by_the_loop,
    kept_for_rounds,
    rebound_by_the_loop,
)
from gradscope.explain.deductions.memory.reset_elsewhere import reset_elsewhere
from gradscope.explain.deductions.memory.shared_subgraph import SharedSubgraph, kept_its_graph, shared_subgraph
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import is_in_step
from gradscope.model.finding import Related
from gradscope.model.graph import Backward
from gradscope.model.site import Site

FREED = "backward through the graph a second time"
_SETS_BACK = ("ZeroBackward", "FillBackward")
Edit = tuple[Site | None, str, str]


def graph_freed(case: Case) -> Iterator[Cause]:
    """Two backward calls, one graph.

    What it flags: a backward reached a part of the graph that an earlier one, on another line, had run and freed.
    Why: a backward frees what the nodes have saved as it goes, since it is rarely needed again. Two losses that share a
        piece of graph (one loss twice, two heads on one trunk, a generator's output in both losses of a GAN) both need
        that piece.
    Wrong:
        features = trunk(x)
        first_head(features).sum().backward()     # frees the trunk's graph
        second_head(features).sum().backward()    # needs it again
    Right:
        features = trunk(x)
        (first_head(features).sum() + second_head(features).sum()).backward()
    Do instead: add the losses and call backward once; or give the first call `retain_graph=True`; or `.detach()` the
        shared tensor where the first loss need not reach through it.
    How it is found: when the backward has raised, its nodes are compared, by identity, with those that earlier calls
        ran without keeping the graph. The oldest of them that has lost what it saved is where it failed; the line
        named is the first call, or the line that should detach when an optimizer stepped other weights in between, or
        that which needs it again where weights of the shared piece have changed.
    """
    for call in case.failed():
        found = _freed(case, call)
        if found is not None and not found.repeats(call):
            yield _freed_cause(case, call, found)


def carried_over(case: Case) -> Iterator[Cause]:
    """State that drags its graph along.

    What it flags: a backward in a loop reached into the graph of an earlier round, through a tensor that was carried
        over: a hidden state, a cache on a module, an accumulated loss, a loss that is built once before the loop.
    Why: a tensor keeps the graph that made it. Used in the next round it joins both graphs, and the next backward runs
        through the old one, which is freed by then; with retain_graph=True the old graph lives on, grows with each
        round, and fails once a step has changed the weights that it saved.
    Wrong:
        for x in sequence:
            state = cell(x, state)
            loss(state).backward()     # the second round reaches into the first
    Right:
        for x in sequence:
            state = cell(x, state.detach())
            loss(state).backward()
    Do instead: detach what is carried over (`state = state.detach()`, `total += loss.detach()`), or compute it anew in
        each round.
    How it is found: both calls stand on the same lines; the nodes of the failed one are compared, by identity, with
        those that the earlier one ran. The line named made the youngest of the nodes that both have, takes it from
        the functions that return it, keeps it for the next round (where a part or a copy of it was taken after the
        earlier backward), binds it to the name that the next round reads, or sets it back in place. Where a line
        between both calls detaches one part of a tuple that is carried over, and another part goes on beside it, it is
        that line; and where rounds of shuffled samples share what is set anew around their loop only, the line there.
    """
    for call in case.failed():
        found = _freed(case, call) or _outdated(case, call)
        if found is not None and found.repeats(call):
            yield _carried_cause(case, call, found)


def _freed(case: Case, call: Backward) -> SharedSubgraph | None:
    """The piece that a call needed after it was freed."""
    if FREED not in (call.exception or ""):
        return None
    nodes = case.graph(call.number).nodes
    freed = [one for one in case.reused() if one.backward == call.number and one.freed]
    freed = [one for one in freed if not kept_its_graph(case, one)] or freed  # the others this very call freed
    gone = [one.node for one in freed]
    failed = max(gone, key=lambda node: nodes[node].seq_nr or 0, default=None)
    return None if failed is None else shared_subgraph(case, call, failed)


def _outdated(case: Case, call: Backward) -> SharedSubgraph | None:
    """The piece of an earlier round that was kept, and whose weights a step has changed."""
    stale = refused(case, call) if REFUSED in (call.exception or "") else None
    found = None if stale is None else write_of(case, stale)
    if stale is None or found is None or not is_in_step(found[1].stack):
        return None
    return shared_subgraph(case, call, stale.node)


def _carried_cause(case: Case, call: Backward, found: SharedSubgraph) -> Cause:
    name = source_lines.assigned(case, received_at(case, found.carried.stack))
    edits = list(_edits(case, call, found, name))
    site, message, advice = next((edit for edit in edits if edit[0] is not None), edits[-1])
    return Cause(
        message,
        site,
        _places(call, found),
        fails=True,
        advice=advice,
        node=found.carried.id,
        tensor=name,
        module=found.carried.module.path if found.carried.module is not None else None,
        backward=call.number,
    )


def _edits(case: Case, call: Backward, found: SharedSubgraph, name: str | None) -> Iterator[Edit]:
    """What may be edited, the surest first: the line where there is one, what is wrong with it, and what to do."""
    stack, what = found.carried.stack, f"`{name}`" if name else f"what {found.carried.name} made"
    again = f"backward {call.number} ran into it again"
    message = f"{what} carries its graph from one round into the next: {again}"
    detach = f"carry over `{name}.detach()`" if name else "detach what is carried over"
    advice = f"{detach}, or compute it anew in each round where its gradient is wanted"
    if found.reader is None:
        message = f"{what} is built once, but backward runs through it again and again: the first run frees its graph"
        advice = "build it anew in each round of the loop, before its backward"
    yield (
        _set_back_at(case, call, found),
        f"{what} is set back in place, which leaves its graph on it: {again}",
        "detach it as well (`detach_()`), or set it to a new tensor",
    )
    yield (
        thrown_away_detach(case),
        f"detach() gives a new tensor, which is thrown away here: {message}",
        "assign what detach() gives, or call detach_()",
    )
    yield (
        parametrizations_cached(case, stack),
        f"cached() keeps parametrized weights, with their graph, for as long as it is open: {again}",
        "open it anew for each forward and its backward",
    )
    half = sibling_detached(case, call, found)
    yield (
        None if half is None else half.site,
        f"`{'' if half is None else half.bare}` is not detached here, as what goes on beside it is: {message}",
        "detach all parts of what is carried over",
    )
    yield half_detached(case, name), f"a part of {what} is not detached here: {message}", "detach all parts of it"
    yield _reset(case, call, found, again)
    yield (
        cache_around(case, stack),
        f"a value is kept here for later calls, with its graph: {message}",
        "keep a detached value, or compute it anew in each step where it depends on a parameter",
    )
    away = f"what is put away here keeps its graph for rounds to come: {again}"
    yield put_away_at(case, found.first.stack, found.reader), away, "put away what is detached"
    reader = () if found.reader is None else found.reader.stack
    yield _rebound(case, call, found, again)
    yield (
        kept_after(case, found.first.stack, reader, name) or kept_for_rounds(case, stack, call.stack),
        f"{what} is kept here, with its graph, for rounds to come: {again}",
        detach.replace("carry over", "keep"),
    )
    before = built_before_the_loop(case, stack, call.stack)
    built = source_lines.assigned(case, before)
    yield (
        before,
        f"{f'`{built}`' if built else what} is built once, before the loop whose backward runs through it: {again}",
        "build it anew in each round of the loop, or call backward once for all rounds",
    )
    yield _carried(case, call, found, again)
    yield received_at(case, stack), message, advice


def _carried(case: Case, call: Backward, found: SharedSubgraph, again: str) -> Edit:
    """The edit where the loop takes it out of functions, under a name that its next round reads."""
    line, variable = carried_by_the_loop(case, found.carried.stack, call.stack) or (None, "")
    message = f"`{variable}` carries its graph from one round into the next: {again}"
    return (
        line,
        message,
        f"carry over `{variable}.detach()`, or compute it anew in each round where its gradient is wanted",
    )


def _rebound(case: Case, call: Backward, found: SharedSubgraph, again: str) -> Edit:
    """The edit where the loop puts it under the name that its next round reads."""
    reader = () if found.reader is None else found.reader.stack
    line, place = rebound_by_the_loop(case, found.carried.stack, call.stack, reader) or (None, "")
    message = f"`{place}` carries its graph from one round into the next: {again}"
    return line, message, "detach what is kept here, or compute it anew in each round where its gradient is wanted"


def _reset(case: Case, call: Backward, found: SharedSubgraph, again: str) -> Edit:
    """The edit where what each round should begin without is set anew outside of the loop."""
    reset = reset_elsewhere(case, call, found)
    state = "" if reset is None else reset.attribute
    message = f"`{state}` is set anew here, outside of the loop whose rounds share its graph: {again}"
    return None if reset is None else reset.site, message, "set it anew in each round, or detach it there"


def _set_back_at(case: Case, call: Backward, found: SharedSubgraph) -> Site | None:
    """Where what is carried was overwritten in place with zeros, say, which leaves its graph on it."""
    graph = case.graph(call.number)
    readers = (graph.nodes[edge.source] for edge in graph.edges if edge.target == found.carried.id)
    return next((node.site for node in readers if node.name.startswith(_SETS_BACK)), None)


def _freed_cause(case: Case, call: Backward, found: SharedSubgraph) -> Cause:
    stepped = _stepped_between(case, call, found)
    detach = _place_to_detach(case, found) if stepped and not stepped & found.leaves else None
    outdated = found.reader.site if found.reader is not None and stepped & found.leaves else None
    name = source_lines.assigned(case, found.node.site)
    what = f"`{name}`" if name else f"what {found.node.name} made"
    if found.reader is None:
        message = f"this backward freed the graph that backward {call.number} runs again from the same {what}"
        advice = "give this call retain_graph=True, or call backward once"
    else:
        message = f"this backward ran through {what} and freed its graph, which backward {call.number} needs as well"
        advice = ""
    if detach is not None:
        message = f"the first loss reaches through {what} and frees its graph, which backward {call.number} needs"
        advice = f"detach what the first loss need not reach: `{name}.detach()` here" if name else "detach it here"
    if outdated is not None:
        message = f"this needs the graph of {what} again, which backward {found.first.number} freed"
        message += "; and weights behind it have changed since: it is outdated"
        advice = f"compute {f'`{name}`' if name else 'it'} anew by the weights as they are now"
    return Cause(
        message,
        detach or outdated or found.first.site,
        _places(call, found),
        fails=True,
        certain=detach is None,
        advice=advice,
        node=found.node.id,
        tensor=name,
        backward=call.number,
    )


def _place_to_detach(case: Case, found: SharedSubgraph) -> Site | None:
    """Where the first loss took the shared tensor."""
    return None if found.before is None or found.reader is None else handed_in_at(case, found.before.stack)


def _stepped_between(case: Case, call: Backward, found: SharedSubgraph) -> set[str]:
    """The leaves that were written to between both calls."""
    stepped: set[str] = set()
    for block in case.blocks():
        between = found.first.started < block.started < call.started and block.backward is None
        for operation in block.operations if between else ():
            stepped.update(write.leaf for write in operation.writes if write.leaf is not None)
    return stepped


def _places(call: Backward, found: SharedSubgraph) -> tuple[Related, ...]:
    places = [
        Related("shared_at", found.node.site, f"{found.node.name} is in both graphs"),
        Related("first_backward_at", found.first.site, f"backward {found.first.number}"),
        Related("second_backward_at", call.site, f"backward {call.number}"),
    ]
    if found.reader is not None:
        places.insert(1, Related("shared_at", found.reader.site, f"used again by {found.reader.name}"))
    return tuple(places)
