"""GS727: a parameter that was put in place after the optimizer was built."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.late_changes import late_replacement, stale_replacement
from gradscope.explain.deductions.gradients.missing_gradients import missing_gradients
from gradscope.explain.deductions.gradients.silent_parameters import silent_tensors
from gradscope.explain.deductions.lines.graph_cuts import birth, born
from gradscope.explain.deductions.steps.optimizer_parameters import optimizer_parameters
from gradscope.explain.deductions.steps.placing_lines import placing_line
from gradscope.explain.deductions.steps.replacements import (
    exchange_between_steps,
    exchange_line,
    exchanging_line,
    holder_of,
    rebuilding_line,
    replacing_line,
)
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.words import be, several
from gradscope.model.finding import Related
from gradscope.model.flow import FlowTensor
from gradscope.model.site import Site


def replaced(case: Case) -> Iterator[Cause]:
    """What it flags:
        A parameter that was put in place after the optimizer was built: the optimizer still holds the old one.
    Why:
        An optimizer keeps the tensors that it was given. A new layer, a new nn.Parameter or a model that was built
        again has other tensors, and these are never updated.
    Wrong:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model.head = nn.Linear(8, 10)
    Right:
        model.head = nn.Linear(8, 10)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    Do instead:
        Build the optimizer after the last change to the model, or add the new parameters with add_param_group.
    How it is found:
        The optimizer holds parameters that no operator reads, or reads any more, while a backward gives gradients to
        others that no optimizer holds. Where these are those of a whole new module, the line that has it built anew
        is named, not one of its constructor; and where the new one gets a name first, or is returned by what makes it,
        the line that puts it into the model. Where a function that hands the optimizer on calls one without it, such
        as a method of the model, to have a layer exchanged between steps, it is the line of that call.
    """
    yield from _replaced_between_steps(case)
    held = optimizer_parameters(case)
    old = [one for one in held.unread if one in silent_tensors(case)]
    if not old:
        return
    groups = list(_by_birth(case, held.named))
    rebuilt = rebuilding_line(case, [one.number for one in held.named], old) if len(groups) > 1 else None
    if rebuilt is not None:
        groups = [(tuple(one.leaf or "parameter" for one in held.named), list(held.named), rebuilt)]
    for names, parameters, made in groups:
        gone, put, holder = born(case, old[0]), rebuilt or replacing_line(case, names[0], made), holder_of(case, old)
        if len(set(names)) < len(names) and put in {one.cause.site for one in missing_gradients(case)}:
            continue  # made anew for each backward, of what has a graph: that it is cut off there is to be told
        new = birth(case, min(one.number for one in parameters))
        site, note = exchange_line(case, new, holder, put) or made_at(case, holder), "put in place"
        if site == put:
            site, note = placing_line(case, new, put, names), "made"
        places = (("declared_at", gone, "what the optimizer holds"), ("made_at", put, note))
        related = tuple(Related(*one) for one in places if one[1] not in (None, site))
        since = " any more" * any(dataflow(case).is_used(one) for one in old)
        others = f"the optimizer holds {len(old)} other{'s' * (len(old) > 1)} that nothing uses{since}"
        message = f"{several(names)} {be(names)} in no optimizer: {others}"
        yield Cause(message, site, related, tensor=names[0], weight=len(parameters))


def _replaced_between_steps(case: Case) -> Iterator[Cause]:
    """Those that took the place of parameters which the optimizer had stepped before."""
    late = late_replacement(case)
    found = late or stale_replacement(case)
    if found is None:
        return
    names = tuple(dict.fromkeys(one.leaf or "parameter" for one in found.new))
    look, fate = found.old[0].look, "it goes on to step what was there before"
    if late is not None:
        fate = f"it still holds what {'it' if len(names) == 1 else 'they'} replaced after {look.count} steps"
    stepped = Related("fails_at", look.site, "steps with parameters that nothing reads any more")
    before = birth(case, found.old[0].held.tensor)
    put = exchanging_line(case, names[0], found.made, before) or look.site
    fresh = late is None or look.count == 0
    site = (exchange_line if fresh else exchange_between_steps)(case, found.made, look.optimizer, put)
    note = "put in place"
    if site == put:
        site, note = placing_line(case, found.made, put, names), "made"
    inner = () if site == put else (Related("made_at", put, note),)
    message = f"{several(names)} {be(names)} in no optimizer: {fate}"
    yield Cause(message, site, (*inner, stepped), tensor=names[0], weight=len(names))


def _by_birth(
    case: Case, parameters: tuple[FlowTensor, ...]
) -> Iterator[tuple[tuple[str, ...], list[FlowTensor], Site | None]]:
    """Parameters grouped by the line that made them."""
    groups: dict[Site | None, list[FlowTensor]] = {}
    for one in parameters:
        groups.setdefault(born(case, one.number), []).append(one)
    for site, ones in groups.items():
        yield tuple(one.leaf or "parameter" for one in ones), ones, site
