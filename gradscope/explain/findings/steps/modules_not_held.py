"""GS817: a module between the trained one and the loss, whose parameters were given to no optimizer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.graph_cuts import birth
from gradscope.explain.deductions.memory.plain_containers import container_around, made_plain_at
from gradscope.explain.deductions.steps.children_left_out import child_left_out, is_between
from gradscope.explain.deductions.steps.groups_left_out import groups_left_out
from gradscope.explain.deductions.steps.optimizer_parameters import optimizer_parameters
from gradscope.explain.deductions.steps.sorting_chains import fallen_through, forgets_part
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.timeline import timelines
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation, FlowTensor, OptimizerLook, Read
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.model.training import FORWARD, LOAD

_TIMES = 3  # backward calls that give the parameter a gradient
_TAKES = ("index", "index_select", "embedding", "gather")
_PLAIN = ""  # the place of parameters that no module call reads


def module_not_held(case: Case) -> Iterator[Cause]:
    """What it flags: parameters that work on what a trained model made and that no optimizer was given.

    Why: an optimizer changes what it was given. A loss with weights that are to be learned, or with a classifier of its
    own, is a module like any other: its parameters get gradients, and stay as they were initialised.

    Wrong:
        criterion = MarginLoss(classes)  # has a weight of its own
        optimizer = torch.optim.Adam(model.parameters())

    Right:
        optimizer = torch.optim.Adam([*model.parameters(), *criterion.parameters()])

    Do instead: give the optimizer its parameters as well; or say that it rests, with requires_grad_(False).

    How it is found: backward calls gave the parameters gradients, three times or more; no optimizer holds any parameter
    of their outermost module, or they are in none; the program did not write to them, did not load them and called the
    module in training mode; and an operator combined them with what was computed from parameters that an optimizer
    holds. Or the function that makes the optimizer writes down a group of them (`{"params": ...}`) which nothing reads:
    under a name that is never used but to edit it, or that is set anew before. Or the parts of one model are written
    down one by one, `model.encoder.parameters()`, all but one: what was computed by the others goes through it on to
    others, and the program does not speak of it. Or a loop over named_parameters() sorts them
    into groups by if and elif, without an else, and no test takes a few small ones whose kind none of the others has;
    or each test asks how a name begins, and none for the attribute that the module is. A
    hint: a network that is left as it is on purpose looks the same.
    """
    found = optimizer_parameters(case)
    reached: dict[int, set[int]] = defaultdict(set)
    for leaf in case.leaf_gradients():
        reached[leaf.tensor].add(leaf.backward)
    asked = {one.number: one for one in found.named if len(reached[one.number]) >= _TIMES}
    lost = [*_lost_groups(case, found.held, asked), *_sorted_out(case, found.held, asked)]
    yield from lost
    if asked and not lost:
        places = _places(dataflow(case), found.held, asked)
        if not any(place.held for name, place in places.items() if name != _PLAIN):
            return  # an input is optimized, or a prompt, and the model rests
        for name, place in places.items():
            silent = place.held or place.meets is None or not place.parameters
            if not silent and (name == _PLAIN or _is_trained(case, name)):
                yield _cause(case, name, place)
        yield from _left_between(case, found.held, asked)


def _left_between(case: Case, held: frozenset[int], asked: dict[int, FlowTensor]) -> Iterator[Cause]:
    names = {one.tensor: one.name for look in case.optimizer_looks() for one in look.parameters}
    leaves = [one.leaf or "" for one in asked.values()]
    left = child_left_out(case, leaves, names.values())
    if left is not None and is_between(case, asked, held):
        made = _optimizer(case, frozenset(asked))
        yield Cause(
            f"no optimizer was given {several(leaves)}: `{left.name}` lies between what is written down, and is not",
            left.site,
            (Related("declared_at", made, "the optimizer"),) if made not in (None, left.site) else (),
            advice="add its parameters to those that the optimizer is given",
            tensor=leaves[0],
            weight=len(leaves),
        )


def _lost_groups(case: Case, held: frozenset[int], asked: dict[int, FlowTensor]) -> Iterator[Cause]:
    tensors = dataflow(case).tensors
    named = [one.leaf for one in asked.values() if one.leaf is not None]
    given = [leaf for one in held if one in tensors and (leaf := tensors[one].leaf) is not None]
    for group in groups_left_out(case, named, given) if named else ():
        made = _optimizer(case, frozenset(one.number for one in asked.values() if one.leaf in group.leaves))
        what = f"`{group.name}`" if group.name is not None else "what is written here"
        lost = f"their group is in {what}, which nothing reads"
        if group.beside_others:
            lost = f"{what} has their group, and the groups are put together here without it"
        elif group.written != group.site:
            lost = f"{what}, which had their group, is set anew here, and nothing has read it before"
        yield Cause(
            f"no optimizer was given {several(group.leaves)}: {lost}",
            group.site,
            (Related("declared_at", made, "the optimizer"),),
            advice="add the group to the list that the optimizer is given",
            tensor=group.leaves[0],
            weight=len(group.leaves),
        )


def _sorted_out(case: Case, held: frozenset[int], asked: dict[int, FlowTensor]) -> Iterator[Cause]:
    tensors = dataflow(case).tensors
    for found in fallen_through(case, asked.values(), (tensors[one] for one in held if one in tensors)):
        made = _optimizer(case, frozenset(one.number for one in asked.values() if one.leaf in found.leaves))
        yield Cause(
            f"no optimizer was given {several(found.leaves)}: no test of this loop takes them, and it has no else",
            found.site,
            (Related("declared_at", made, "the optimizer"),) if made is not None else (),
            advice="make the last test an else, or give them a group of their own",
            tensor=found.leaves[0],
            weight=len(found.leaves),
        )


@dataclass(slots=True)
class _Place:
    """What is read in the calls of one outermost module: such parameters, and whether an optimizer holds one of others.

    `meets` is the operator that combines one with what a held parameter led to.
    """

    parameters: dict[int, FlowTensor] = field(default_factory=dict)
    held: bool = False
    meets: FlowOperation | None = None


def _places(flow: RecordedDataflow, held: frozenset[int], asked: dict[int, FlowTensor]) -> dict[str, _Place]:
    found: dict[str, _Place] = defaultdict(_Place)
    trained: set[int] = set()  # what was computed from held parameters
    weights = {one: {one} for one in asked}  # what was computed of nothing but asked ones, and of which
    for operation in flow.operations:
        if operation.backward is not None or not operation.operation.grad:
            continue
        place = found[_outermost(operation)]
        own = [one.tensor for one in operation.reads if one.tensor in weights]
        led = [one for one in operation.reads if one.tensor in trained and one.requires_grad]
        for one in (one for one in own if one in asked):
            place.parameters[one] = asked[one]
        place.held = place.held or any(one.tensor in held for one in operation.reads)
        if own and led and place.meets is None:
            place.meets = operation
        if led or any(_is_held(one, held) for one in operation.reads):
            trained.update(operation.makes)
        elif own and (len(own) == len(operation.reads) or _looks_up(operation, own)):
            for made in operation.makes:
                weights[made] = set().union(*(weights[one] for one in own))
    return found


def _looks_up(operation: FlowOperation, own: list[int]) -> bool:
    """Whether an operator takes rows of a table of such parameters: what says which rows is not worked on."""
    return base_name(operation.operation.name) in _TAKES and own == [operation.reads[0].tensor]


def _is_held(read: Read, held: frozenset[int]) -> bool:
    return read.requires_grad and read.tensor in held


def _outermost(operation: FlowOperation) -> str:
    module = operation.operation.module
    return _PLAIN if module is None else module.outermost.module_class


def _is_trained(case: Case, name: str) -> bool:
    """Whether a module is called in training mode, and nothing was loaded into it."""
    calls = [call for timeline in timelines(case) for _, call in timeline.of(FORWARD, LOAD) if call.module == name]
    modes = [call.count for call in calls if call.kind is FORWARD]
    return len(modes) == len(calls) and (not modes or any(modes))


def _cause(case: Case, name: str, place: _Place) -> Cause:
    names = [one.leaf or "a parameter" for one in place.parameters.values()]
    meets = place.meets.site if place.meets is not None else None
    whose = f"the parameters of {name} ({several(names)})" if name else several(names)
    made = _optimizer(case, frozenset(place.parameters))
    put = container_around(case, birth(case, next(iter(place.parameters))))
    kept = None if put is None else made_plain_at(case, put) or put
    sorted_out = forgets_part(case, name) if kept is None and name else None
    is_elsewhere = (kept or sorted_out) is not None and made is not None
    given = (Related("declared_at", made, "the optimizer"),) if is_elsewhere else ()
    return Cause(
        f"no optimizer was given {whose}: the gradients of each step are computed and change nothing"
        + (", and parameters() does not find them in what they are put into here" if kept is not None else "")
        + (": no test of this loop takes them, and it has no else" if sorted_out is not None else ""),
        kept or sorted_out or made or meets,
        (*given, Related("used_at", meets, "works on what is trained")),
        tensor=names[0],
        weight=len(names),
    )


def _optimizer(case: Case, forgotten: frozenset[int]) -> Site | None:
    """Where the optimizer was made that should hold them: of those that step after the backward calls which reach them,
    or of all, the one that these calls reach most of. A program may have others, of a teacher or of an opponent.
    """
    backwards = {leaf.backward for leaf in case.leaf_gradients() if leaf.tensor in forgotten}
    reached = {leaf.tensor for leaf in case.leaf_gradients() if leaf.backward in backwards}
    looks = case.optimizer_looks()
    followed = {look.optimizer for look in looks if look.backward in backwards}

    def fits(look: OptimizerLook) -> tuple[bool, int, int]:
        held = {one.tensor for one in look.parameters}
        return look.optimizer in followed, len(held & reached), len(held)

    return made_at(case, max(looks, key=fits).optimizer) if looks else None
