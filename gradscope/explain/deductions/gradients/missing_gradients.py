"""Finds the gradients that never arrive: a loss without a graph, and parameters whose .grad stays None or zero.

Each is followed through the recorded operators to the line that cut it off.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.cancelled_gradients import cancelled_gradients
from gradscope.explain.deductions.gradients.clearing_lines import held_by_hand, zero_grad_between
from gradscope.explain.deductions.gradients.derived_parts import derived_alone, derived_part
from gradscope.explain.deductions.gradients.flat_parts import flat_parts
from gradscope.explain.deductions.gradients.frozen_losses import freezing_lines, frozen_loss
from gradscope.explain.deductions.gradients.given_none import given_none, never_came
from gradscope.explain.deductions.gradients.handed_values import given_to_the_loss
from gradscope.explain.deductions.gradients.late_changes import unexplained_silences
from gradscope.explain.deductions.gradients.late_steps import late_steps
from gradscope.explain.deductions.gradients.led_nowhere import led_nowhere
from gradscope.explain.deductions.gradients.likely_cuts import at_its_call, likeliest
from gradscope.explain.deductions.gradients.losses_of_numbers import late_loss_of_numbers, loss_of_numbers
from gradscope.explain.deductions.gradients.lost_derivatives import lost_derivatives
from gradscope.explain.deductions.gradients.lost_parts import lost_parts
from gradscope.explain.deductions.gradients.silent_parameters import SilentParameter, silent_parameters
from gradscope.explain.deductions.gradients.silent_stages import cut_in_a_stage
from gradscope.explain.deductions.gradients.straight_through import compared_straight_through
from gradscope.explain.deductions.gradients.terms_as_numbers import number_before
from gradscope.explain.deductions.gradients.transformed_reads import TAKE_FUNC_GRAD, mapped_at
from gradscope.explain.deductions.lines.graph_cuts import (
    CUT,
    DERIVATIVE,
    MODE,
    MissingGradient,
    Reason,
    at_cut,
    at_exit,
    exit_at,
    reaches,
)
from gradscope.explain.deductions.steps.averages import is_averaged
from gradscope.explain.deductions.steps.optimizer_parameters import NAMELESS, scatters
from gradscope.explain.deductions.steps.stacked_members import stacked_members
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Cut, RecordedDataflow, Way, dataflow
from gradscope.explain.evidence.optimizer_frames import runs_optimizer
from gradscope.explain.evidence.syntax import attribute_call, syntax
from gradscope.model.finding import Related, Severity
from gradscope.model.graph import Backward
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.store.asked import kept

REPLACED, DROPPED = "GS727", "GS728"
NO_GRAPH = "does not require grad and does not have a grad_fn"
# What a program may mean, in a phase in which a part of it rests, is a hint; nobody hands numbers around for that.
_LATE = {Reason.DETACHED: Severity.INFO, Reason.GRADIENTS_OFF: Severity.INFO}
_INFERENCE = "inference_mode"
_COME_BACK = ("tensor", "from_numpy", "asarray")
_ZERO = ("Round", "Sign", "Floor", "Ceil", "Trunc", "Heaviside", "Bernoulli", "Normal", "Fix", "Sgn", "FloorDivide")


@kept
def missing_gradients(case: Case) -> tuple[MissingGradient, ...]:
    """Every gradient that is missing, those that explain a failure first; the parameters of one line together."""
    found = [*_without_graph(case), *_inference(case), *_silent(case), *_late(case), *_parts(case)]
    found += [*lost_derivatives(case), *cancelled_gradients(case), *flat_parts(case), *late_steps(case)]
    return tuple(_together(found))


def _together(found: list[MissingGradient]) -> Iterator[MissingGradient]:
    groups: dict[object, list[MissingGradient]] = defaultdict(list)
    for one in found:
        fate = one.reason if one.reason in (Reason.ZERO_DERIVATIVE, Reason.CLEARED) else bool(one.names)
        groups[one.code, one.cause.site, one.cause.fails, fate].append(one)
    for same in groups.values():
        names = tuple(dict.fromkeys(name for one in same for name in one.names))
        cause = same[0].cause
        if names:
            cause = replace(cause, tensor=names[0], weight=len(names))
        yield replace(same[0], cause=cause, names=names)


# a loss without a graph


def _without_graph(case: Case) -> Iterator[MissingGradient]:
    for call in case.failed():
        if NO_GRAPH in (call.exception or ""):
            fails = any(failure.backward == call.number for failure in case.failures())
            found = _why_no_graph(case, call)
            failing = Related("fails_at", call.site, "backward: element 0 does not require grad")
            related = (*found.cause.related, failing) if found.cause.site != call.site else found.cause.related
            cause = replace(found.cause, fails=fails, backward=call.number, related=related)
            yield replace(found, cause=cause, no_graph=True)


def _why_no_graph(case: Case, call: Backward) -> MissingGradient:
    inference = syntax(case).inference_mode(call.stack)
    if inference is not None:
        return MissingGradient(MODE, Reason.INFERENCE_MODE, Cause("", inference))
    flow, outside = dataflow(case), mapped_at(call.stack)
    if outside is not None and _made_there(flow, call, outside):
        related = (Related("called_at", outside, "vmap"),)
        return MissingGradient(CUT, Reason.UNDER_VMAP, Cause("", call.site, related, advice=TAKE_FUNC_GRAD))
    roots = [end.tensor for end in flow.roots if end.backward == call.number and not end.requires_grad]
    for root in roots:
        cuts = flow.behind(root)
        if cuts:
            frozen = _had_a_graph_before(case, call, cuts)
            return frozen_loss(case, call) if frozen else given_to_the_loss(case, at_cut(case, cuts[0]), root)
    switched = _mode_before(case, call)
    if switched is not None:
        return switched
    end = min((flow.makers[root][-1] for root in roots if flow.makers.get(root)), default=len(flow.operations))
    since = _derived_before(case, call)
    told = {one.tensor for one in flow.roots if one.backward is not None and one.backward < call.number}
    left = [at for at in range(since, end) if exit_at(case, at) and not _reads(flow, at, told)]
    if left:
        return at_exit(case, left[-1])
    learned = [at for at in range(since, end) if flow.reads_learned(at)]
    numbers = loss_of_numbers(case, roots, learned) if learned else late_loss_of_numbers(case, call)
    return numbers or (_unseen(case, learned[-1]) if learned else frozen_loss(case, call))


def _reads(flow: RecordedDataflow, at: int, tensors: set[int]) -> bool:
    """Whether an operator reads some tensors alone: the loss of an earlier backward is none that this one lost."""
    return all(one.tensor in tensors for one in flow.operations[at].reads)


def _had_a_graph_before(case: Case, call: Backward, cuts: list[Cut]) -> bool:
    """Whether the line that calls backward has had a graph beside the same cuts, and something is frozen by hand."""
    flow = dataflow(case)
    before = [one for one in case.backwards() if one.site == call.site and one.number < call.number]
    lines = {one.site for one in flow.operations[: _derived_before(case, call)]}
    same = all(flow.operations[cut.operation].site in lines for cut in cuts)
    return same and bool(before) and bool(freezing_lines(case))


def _made_there(flow: RecordedDataflow, call: Backward, outside: Site) -> bool:
    """Whether what a call starts from was computed under the same vmap; what comes from before it has no graph else."""
    makers = [flow.makers[end.tensor] for end in flow.roots if end.backward == call.number]
    return all(made and mapped_at(flow.operations[made[-1]].operation.stack) == outside for made in makers)


def _derived_before(case: Case, call: Backward) -> int:
    """Behind the operators of earlier backward calls: what left the losses before them is none of this one's."""
    operations = enumerate(dataflow(case).operations)
    return max((at + 1 for at, one in operations if one.backward is not None and one.backward < call.number), default=0)


def _unseen(case: Case, last: int) -> MissingGradient:
    """Something required grad, but the loss was computed from something else: the values left torch unseen."""
    operation = dataflow(case).operations[last]
    lines = list(syntax(case).everywhere(attribute_call("tolist", "numpy")))
    related = (Related("cut_at", operation.site, operation.operation.name),)
    cause = Cause("", lines[0] if lines else operation.site, related, certain=False)
    reason, call = (Reason.PLAIN_NUMBERS_AFTER, _call(lines[0])) if lines else (Reason.OTHER_TENSORS, "")
    return MissingGradient(CUT, reason, cause, operator=base_name(operation.operation.name), call=call)


def _call(site: Site) -> str:
    return ".tolist" if ".tolist(" in (site.source or "") else ".numpy"


def _inference(case: Case) -> Iterator[MissingGradient]:
    """A tensor made in inference mode reached an operation that has to save it for a backward, and torch refused."""
    for failure in case.failures():
        if "Inference tensors cannot be saved" in failure.message:
            modes = list(islice(_inference_modes(case), 1))
            site = modes[0] if modes else failure.site
            related = (Related("fails_at", failure.site, "a backward would need the tensor"),)
            cause = Cause("", site, related, fails=True, certain=bool(modes))
            yield MissingGradient(MODE, Reason.INFERENCE_TENSOR, cause)


def _inference_modes(case: Case) -> Iterator[Site]:
    """What switched inference mode on, the latest first: not only operators whose tensors were followed tell of it."""
    stacks = dict.fromkeys(
        operation.stack
        for block in reversed(case.blocks())
        for operation in reversed(block.operations)
        if block.backward is None and not operation.grad and not runs_optimizer(operation)
    )
    switched = (syntax(case).switch(stack) for stack in stacks)
    found = [mode.site for mode in switched if mode is not None]
    yield from (site for site in found if _INFERENCE in (site.source or ""))
    yield from found


def _mode_before(case: Case, call: Backward) -> MissingGradient | None:
    """Gradients were off when the last operator before the backward ran: nothing needs to be known of its tensors."""
    before = [block for block in case.blocks() if block.thread == call.thread and block.backward is None]
    before = [block for block in before if block.started <= call.started]
    if not before or not before[-1].operations or before[-1].operations[-1].grad:
        return None
    operations = before[-1].operations
    first = next(at for at in range(len(operations) - 1, -1, -1) if at == 0 or operations[at - 1].grad)
    ways = [syntax(case).switch(operations[at].stack) for at in (-1, first)]
    mode = next((one for one in ways if one is not None and one.block), ways[1])
    site = mode.site if mode else operations[-1].site
    related = (Related("cut_at", operations[-1].site, operations[-1].name),)
    cause = Cause("", site, related, op=operations[-1].name, certain=mode is not None)
    return MissingGradient(MODE, Reason.GRADIENTS_OFF_BEFORE, cause)


def _parts(case: Case) -> Iterator[MissingGradient]:
    """Summands of a loss that train nothing. A program may mean that."""
    for one in lost_parts(case):
        yield replace(one, cause=replace(one.cause, certain=False, severity=Severity.WARNING), part=True)


# parameters without a gradient


def _silent(case: Case) -> Iterator[MissingGradient]:
    if not any(call.exception is None for call in case.backwards()):
        return
    for one in silent_parameters(case):
        if is_averaged(case, one.held.tensor):
            continue  # the program sets it itself
        found = _why_zero(case, one) if one.zero else _why_none(case, one)
        if found is not None:
            name = one.held.name if one.held.name != NAMELESS else "a parameter that no module has"
            yield replace(found, names=(name,))


def _late(case: Case) -> Iterator[MissingGradient]:
    """Parameters that were trained until something on their way to the loss was cut."""
    for one in unexplained_silences(case):
        way = one.flow.onward(one.held.tensor)
        values = (cut for cut in way.cuts if not one.flow.is_whole(cut.made))  # a choice leaves experts out by turns
        cuts = [cut for cut in values if cut.made in one.flow.useful]
        left = [at for at in way.operations if _comes_back_at_once(exit_at(case, at))]
        if cuts or left:
            found = at_cut(case, cuts[0]) if cuts else at_exit(case, left[0])
            cause = replace(found.cause, certain=False, severity=_LATE.get(found.reason, Severity.WARNING))
            yield replace(found, cause=cause, names=(one.held.name,), since=one.look.count)


def _comes_back_at_once(site: Site | None) -> bool:
    """Whether a line that hands values out makes a tensor of them: a head that rests may still be monitored."""
    return site is not None and any(f"{call}(" in (site.source or "") for call in _COME_BACK)


def _why_none(case: Case, one: SilentParameter) -> MissingGradient | None:
    if _was_in_graph(case, one):
        return _dropped(case, one) or cut_in_a_stage(case, one)
    way = dataflow(case).onward(one.held.tensor)
    found = stacked_members(case, one.look.optimizer, way) or derived_part(case, way)
    found = found or compared_straight_through(case, way) or cut_off(case, way) or derived_alone(case, way)
    return found or led_nowhere(case, one, way)


def cut_off(case: Case, way: Way) -> MissingGradient | None:
    """Where the way of a parameter to the loss is cut."""
    flow = dataflow(case)
    cuts = [cut for cut in way.cuts if cut.made in flow.useful]
    if cuts:
        lost = {one.cause.site for one in lost_parts(case)}
        cut = likeliest(flow, way, cuts, lost)
        number = number_before(case, way, cut)
        if number is not None:
            return at_cut(case, number) if isinstance(number, Cut) else at_exit(case, number)
        return at_its_call(case, cut, at_cut(case, cut))
    left = [at for at in way.operations if exit_at(case, at) and flow.comes_back(at)]
    if left:  # what is shown leaves torch as well: a line that makes a tensor of it is nearer
        return at_exit(case, next((at for at in left if _comes_back_at_once(exit_at(case, at))), left[0]))
    numbers = [cut for cut in way.cuts if flow.becomes_a_number(cut.made)]
    if not numbers:
        return None
    found = at_cut(case, numbers[0])
    return replace(found, cause=replace(found.cause, certain=False))


def _was_in_graph(case: Case, one: SilentParameter) -> bool:
    """Whether any backward reached it: not every one's leaves are looked at one by one, their names are all known."""
    name, tensors = one.held.name, {leaf.tensor for leaf in case.leaf_gradients()}
    if one.held.tensor in tensors:
        return True
    known = dataflow(case).tensors
    another = any(at in known and known[at].leaf == name for at in tensors) or _is_anothers(case, one)
    another = another or _is_only_copied(case, one)
    return name != NAMELESS and not another and name in case.reached_leaves()


def _is_only_copied(case: Case, one: SilentParameter) -> bool:
    """Whether all that reads a parameter cuts its values off: what had its name in a graph was a copy that was called
    in its place."""
    flow = dataflow(case)
    operations = ((at, flow.operations[at]) for at in flow.readers.get(one.held.tensor, ()))
    reading = {at for at, each in operations if each.backward is None and each.operation.grad}
    return bool(reading) and reading <= {cut.operation for cut in flow.onward(one.held.tensor).cuts}


def _is_anothers(case: Case, one: SilentParameter) -> bool:
    """Whether another tensor has its name in the last graph: functional_call puts one in its place."""
    looked = {leaf.backward for leaf in case.leaf_gradients()} & set(case.graph_sizes())
    last = max((call for call in looked if call <= (one.look.backward or 0)), default=None)
    if last is None:
        return False
    leaves = [leaf for leaf in case.leaf_gradients() if leaf.backward == last]
    return any(case.graph(last).nodes[leaf.node].leaf == one.held.name for leaf in leaves)


def _why_zero(case: Case, one: SilentParameter) -> MissingGradient | None:
    """Zeros: zeroed between backward and step, or a derivative that is zero everywhere on its way."""
    zeroing = _zeroing(case, one)
    if zeroing is not None:
        return zeroing
    call = one.look.backward
    if call is None or not _was_in_graph(case, one):
        return None
    graph = case.graph(call)
    node = next((leaf.node for leaf in case.leaf_gradients() if leaf.tensor == one.held.tensor), None)
    flat = [each for each in graph.nodes if each.name.startswith(_ZERO)]
    if node is None or not flat or reaches(graph, node, {each.id for each in flat}):
        return None
    first = flat[-1]
    related = (Related("cut_at", first.site, first.name),)
    module = first.module.path if first.module else None
    cause = Cause("", first.site, related, node=first.id, op=first.op, module=module, backward=call)
    operator = first.name.removesuffix("Backward0")
    return MissingGradient(DERIVATIVE, Reason.ZERO_DERIVATIVE, cause, operator=operator)


# gradients taken away before the step


def _dropped(case: Case, one: SilentParameter) -> MissingGradient | None:
    call = next((call for call in case.backwards() if call.number == one.look.backward), None)
    if call is None or call.kind != "backward" or not _reached(case, one, call) or scatters(case, call.number):
        return None  # an expert or a head that rests: an earlier backward has reached it; FSDP takes gradients away
    never = never_came(case, one.held.name)
    if never is not None:
        return given_none(case, never, one.held.name)
    if held_by_hand(case, call.site, one.look):
        return None
    between = zero_grad_between(case, call.site, one.look.site)
    return _drop(one, call, between or one.look.site, certain=between is not None)


def _reached(case: Case, one: SilentParameter, call: Backward) -> bool:
    """Whether a backward's graph leads to a parameter."""
    if any(leaf.tensor == one.held.tensor and leaf.backward == call.number for leaf in case.leaf_gradients()):
        return True
    known = dataflow(case).tensors
    others = (leaf.tensor for leaf in case.leaf_gradients() if leaf.tensor != one.held.tensor)
    replaced = any(other in known and known[other].leaf == one.held.name for other in others)
    if one.held.name == NAMELESS or call.number not in case.graph_sizes() or replaced:
        return False  # a name that another has taken over tells nothing
    return any(node.leaf == one.held.name for node in case.graph(call.number).nodes if node.accumulates)


def _zeroing(case: Case, one: SilentParameter) -> MissingGradient | None:
    """A zeroing operator between the backward and the step, under zero_grad."""
    call = next((call for call in case.backwards() if call.number == one.look.backward), None)
    if call is None:
        return None
    for block in case.blocks():
        if block.backward is not None or block.started < call.started:
            continue
        for operation in block.operations:
            if any("torch/optim" in site.file and site.function != "zero_grad" for site in operation.stack[:4]):
                return None
            if "zero_" in operation.name and any(site.function == "zero_grad" for site in operation.stack):
                return _drop(one, call, operation.site, certain=True)
        return None
    return None


def _drop(one: SilentParameter, call: Backward, site: Site | None, certain: bool) -> MissingGradient:
    related = (Related("fails_at", one.look.site, f"{one.look.name}.step()"),)
    backward = Related("first_backward_at", call.site, "the backward that computed them")
    cause = Cause("", site, (backward, *related), certain=certain, backward=call.number)
    return MissingGradient(DROPPED, Reason.CLEARED, cause)
