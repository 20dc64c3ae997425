"""Parameters that no operator read, or whose results nothing read that led to a loss."""

from __future__ import annotations

from dataclasses import replace

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.silent_parameters import SilentParameter
from gradscope.explain.deductions.gradients.unread_parameters import UNUSED, never_read
from gradscope.explain.deductions.lines.dropped_results import is_left_beside_its_part, is_run_for_a_part
from gradscope.explain.deductions.lines.graph_cuts import MissingGradient, Reason, at_cut, module_of
from gradscope.explain.deductions.lines.overwritten_names import overwritten
from gradscope.explain.deductions.steps.averages import is_only_set
from gradscope.explain.deductions.steps.optimizer_parameters import optimizer_parameters
from gradscope.explain.evidence.aliases import ALIAS
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import Cut, RecordedDataflow, Way, dataflow, leaves_torch
from gradscope.model.finding import Related, Severity
from gradscope.model.operation import base_name


def led_nowhere(case: Case, one: SilentParameter, way: Way) -> MissingGradient | None:
    """A parameter that was not read, or whose results were not; None for one that was replaced, or is derived by."""
    if optimizer_parameters(case).has_named_others and one.held.tensor in optimizer_parameters(case).unread:
        return None
    read = [at for at in way.operations if not is_only_set(case, one.held.tensor, at)]
    if not read:
        return _read_by_value(case, one) or _hint_where_cut_short(case, never_read(case, one))
    if any(end.tensor in way.live for end in dataflow(case).roots):
        return None  # grad() was asked for it: what is done with what that gives is the program's own
    end = next((at for at in reversed(read) if not _hands_out(case, at)), read[-1])
    return _hint_where_cut_short(case, _unused_at(case, end))


def _unused_at(case: Case, end: int) -> MissingGradient:
    """A result that nothing reads: the line that takes its name away, else the one that made it."""
    last = dataflow(case).operations[end]
    again = overwritten(case, last.operation.stack)
    site, name = (again.again, again.name) if again is not None else (last.site, "")
    related = (Related("unused_at", last.site if again is None else again.kept, last.operation.name),)
    rests = is_run_for_a_part(case, end) or is_left_beside_its_part(case, end)
    meant, module = Severity.INFO if rests else None, module_of(case, end)
    advice = "" if again is None else f"add to `{name}` here, or give this another name"
    cause = Cause("", site, related, severity=meant, advice=advice, op=last.operation.name, module=module)
    reason = Reason.RESULT_UNUSED if again is None else Reason.NAME_OVERWRITTEN
    return MissingGradient(UNUSED, reason, cause, call=name)


def _read_by_value(case: Case, one: SilentParameter) -> MissingGradient | None:
    """Where the values of a parameter were taken out of torch's sight, as `.data` does, after an initialisation had
    filled it without gradients, and go on to a loss; not where they are copied into another tensor."""
    flow = dataflow(case)
    for at in flow.readers.get(one.held.tensor, ()):
        operation = flow.operations[at]
        if operation.operation.name == ALIAS and any(_is_computed_with(flow, made) for made in operation.makes):
            return at_cut(case, Cut(at, one.held.tensor, operation.makes[0]))
    return None


def _is_computed_with(flow: RecordedDataflow, tensor: int) -> bool:
    """Whether the first operator that reads a tensor edits nothing, and what comes of it goes into a loss."""
    first = next(iter(flow.readers.get(tensor, ())), None)
    return first is not None and not flow.operations[first].operation.writes and tensor in flow.useful


def _hands_out(case: Case, at: int) -> bool:
    """Whether an operator only gives another tensor or a number for the same values: state_dict(), item()."""
    operation = dataflow(case).operations[at]
    return base_name(operation.operation.name) in ("detach", "alias") or leaves_torch(operation)


def _hint_where_cut_short(case: Case, found: MissingGradient) -> MissingGradient:
    """What is not used may be used later, where the run was killed or goes on."""
    if found.code != UNUSED or case.run().ended:
        return found
    return replace(found, cause=replace(found.cause, severity=Severity.INFO))
