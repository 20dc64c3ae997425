"""GS729: an input that autograd.grad is asked for and that the output was not computed from."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.graph_cuts import at_cut, born
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.findings.cuts.missing_gradient import reason_of
from gradscope.functions.source import last_name
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import FlowEnd
from gradscope.model.graph import Backward
from gradscope.model.operation import base_name
from gradscope.model.site import Site

NOT_USED = "appears to not have been used in the graph"
_FUNCTIONAL = "torch/autograd/functional.py"  # which gives the function views of its inputs, and asks for those
_DERIVES = ("jacobian", "hessian", "vjp", "jvp", "hvp", "vhp")
_SEVERAL = 4  # calls of a line
NO_GRAD = "One of the differentiated Tensors does not require grad"


def unused_input(case: Case) -> Iterator[Cause]:
    """What it flags:
        autograd.grad(output, input) where the output was not computed from that input.
    Why:
        The graph knows tensors, not values: a slice, a view or a copy of x that is made after y was computed from x is
        another tensor, and nothing leads from y to it. The same error comes when a detach cuts the way.
    Wrong:
        y = model(x)
        torch.autograd.grad(y.sum(), x[:, 0])
    Right:
        y = model(x)
        torch.autograd.grad(y.sum(), x)[0][:, 0]
    Do instead:
        Ask for the tensor that went into the computation; allow_unused=True where None is a fine answer.
    How it is found:
        The call raised; or a line that allows what is unused got None for all that it asked for, in each of its calls.
        The input was followed through the recorded operators to the line where its way ends, or back to the line that
        made it from what was used.
    """
    for call in case.failed():
        text = call.exception or ""
        if NOT_USED in text or NO_GRAD in text:
            fails = any(failure.backward == call.number for failure in case.failures())
            for cause in _not_used(case, call):
                failing = Related("fails_at", call.site, "autograd.grad")
                related = (*cause.related, failing) if cause.site != call.site else cause.related
                yield replace(cause, fails=fails, related=related, backward=call.number)
                break
    for call in _in_vain(case):
        for cause in _taken_later(case, call):
            related = (*cause.related, Related("called_at", call.site, "autograd.grad, which gives None"))
            yield replace(cause, related=related, backward=call.number, severity=Severity.WARNING, certain=False)
            break


def _in_vain(case: Case) -> Iterator[Backward]:
    """The first call of each line whose calls of autograd.grad all gave None for all that they were asked for."""
    calls: dict[Site | None, list[Backward]] = defaultdict(list)
    for call in case.backwards():
        if call.kind == "grad":
            calls[call.site].append(call)
    for site, same in calls.items():
        if site is not None and len(same) >= _SEVERAL and all(_gave_nothing(call) for call in same):
            yield same[0]


def _gave_nothing(call: Backward) -> bool:
    return call.exception is None and bool(call.inputs) and all(one.node is None for one in call.inputs or ())


def _not_used(case: Case, call: Backward) -> Iterator[Cause]:
    targets = [end for end in dataflow(case).ends if end.target and end.backward == call.number]
    missing = {at for at, root in enumerate(call.inputs or ()) if root.node is None}
    wanted = [end for end in targets if end.position in missing or not end.requires_grad]
    for end in wanted or targets:
        yield _why_not_used(case, call, end)
    if not targets:
        yield Cause("an input that the output does not depend on was asked for", call.site, certain=False)


def _why_not_used(case: Case, call: Backward, end: FlowEnd) -> Cause:
    flow, number = dataflow(case), end.position
    name = flow.tensors[end.tensor].leaf if end.tensor in flow.tensors else None
    what = f"input {number}" + (f" ({name})" if name else "")
    if not end.requires_grad:
        cuts = flow.behind(end.tensor)
        if cuts:
            found = at_cut(case, cuts[0])
            message = f"{what} of autograd.grad requires no grad: {reason_of(found)}"
            return replace(found.cause, message=message, tensor=name)
        detached = _detached_under_its_name(case, call)
        reason = "" if detached is None else ": it was detached here"
        message = f"{what} of autograd.grad requires no grad{reason}"
        return Cause(message, detached or call.site, tensor=name, certain=detached is None)
    way = flow.onward(end.tensor)
    cuts = [cut for cut in way.cuts if cut.made in flow.useful]
    if cuts:
        found = at_cut(case, cuts[0])
        return replace(found.cause, message=f"the output does not depend on {what}: {reason_of(found)}", tensor=name)
    made = _maker_of_a_part(flow, end)
    if made is not None:
        return _made_anew(case, call, made, what, name)
    copied = {cut.operation for cut in way.cuts}  # values alone, for another tensor
    computed = [at for at in way.operations if at not in copied]
    if computed:
        last = flow.operations[computed[-1]]
        message = f"what is computed from {what} does not go into the output"
        return Cause(message, last.site, (Related("unused_at", last.site, last.operation.name),), tensor=name)
    return _never_read(case, call, end, what)


def _detached_under_its_name(case: Case, call: Backward) -> Site | None:
    """The line that gave the name which a call asks for to a detached tensor, in the function that calls, where how the
    tensor was made was not followed."""
    nodes = [one for one in source_lines.at(case, call.site) if isinstance(one, ast.Call) and len(one.args) > 1]
    given = [one.args[1] for one in nodes if last_name(one.func) == "grad"]
    asked = {one.id for inputs in given for one in ast.walk(inputs) if isinstance(one, ast.Name)}
    lines = {one.site for one in case.operators() if base_name(one.name) == "detach"} if asked else set()
    found = [
        one
        for one in lines
        if one is not None and one.is_in_function_of(call.site) and source_lines.assigned(case, one) in asked
    ]
    return found[0] if len(found) == 1 else None


def _never_read(case: Case, call: Backward, end: FlowEnd, what: str) -> Cause:
    flow = dataflow(case)
    name = flow.tensors[end.tensor].leaf if end.tensor in flow.tensors else None
    if _comes_of_the_output(flow, end):
        return Cause(f"{what} is itself computed from the output, which does not depend on it", call.site, tensor=name)
    makers = [flow.operations[at] for at in flow.makers.get(end.tensor, ())]
    if makers and all(one.backward is not None for one in makers):
        return Cause(f"{what} is a derivative, which the output does not depend on", call.site, tensor=name)
    declared = born(case, end.tensor)
    related = (Related("declared_at", declared, name or ""),) if declared else ()
    return Cause(f"no operation that led to the output read {what}", declared or call.site, related, tensor=name)


def _is_functional(site: Site) -> bool:
    return site.file.replace("\\", "/").endswith(_FUNCTIONAL)


def _returned_by_its_function(case: Case, line: Site) -> Site | None:
    """What the function that a line differentiates returns, where it stands in the same file."""
    calls = [one for one in source_lines.at(case, line) if isinstance(one, ast.Call) and one.args]
    given = next((one.args[0] for one in calls if last_name(one.func) in _DERIVES), None)
    if isinstance(given, ast.Lambda):
        return syntax(case).site(line.file, given.lineno)
    if not isinstance(given, ast.Name):
        return None
    named = [one for one in syntax(case).nodes(line.file) if isinstance(one, ast.FunctionDef) and one.name == given.id]
    lines = [one.lineno for function in named for one in ast.walk(function) if isinstance(one, ast.Return)]
    return syntax(case).site(line.file, lines[-1]) if len(named) == 1 and lines else None


def _comes_of_the_output(flow: RecordedDataflow, end: FlowEnd) -> bool:
    """Whether an input was computed from what a call started from, or is a derivative of it."""
    roots = {one.backward: one.tensor for one in flow.roots}
    waiting, seen = [end.tensor], {end.tensor}
    while waiting:
        one = waiting.pop()
        if one == roots.get(end.backward):
            return True
        makers = [flow.operations[at] for at in flow.makers.get(one, ())]
        known = [read.tensor for maker in makers for read in maker.reads]
        known += [roots[maker.backward] for maker in makers if maker.backward in roots]
        waiting += [tensor for tensor in known if tensor not in seen]
        seen.update(known)
    return False


def _taken_later(case: Case, call: Backward) -> Iterator[Cause]:
    """The inputs that were made of what the output was computed from: why else None comes may well be meant."""
    flow = dataflow(case)
    for end in flow.ends:
        made = _maker_of_a_part(flow, end) if end.target and end.backward == call.number else None
        if made is not None:
            yield _made_anew(case, call, made, f"input {end.position}", None)


def _maker_of_a_part(flow: RecordedDataflow, end: FlowEnd) -> int | None:
    """The operator that made an input of what went into an output, where nothing was computed from the input itself."""
    made = [at for at in flow.makers.get(end.tensor, ()) if flow.operations[at].backward is None]
    if not made or flow.onward(end.tensor).operations:
        return None
    return made[-1] if any(read.tensor in flow.useful for read in flow.operations[made[-1]].reads) else None


def _made_anew(case: Case, call: Backward, at: int, what: str, name: str | None) -> Cause:
    """An input that was made of what the output was computed from: after that, or before."""
    maker = dataflow(case).operations[at]
    operator = base_name(maker.operation.name)
    if call.site is not None and any(_is_functional(site) for site in maker.operation.stack):
        ignores = _returned_by_its_function(case, call.site) or call.site
        return Cause("the function does not compute with what it is called with, so its derivative is zero", ignores)
    old = None if call.exception is None else _old_one_read(case, call, at)  # the program has gone on
    if old is None:
        message = f"{what} is a new tensor, made here by {operator}: the output was computed from the one that it was "
        asks = (call.site.file, call.site.function) if call.site is not None else None
        called = (site for site in maker.operation.stack if (site.file, site.function) == asks)
        site = next(called, maker.site)  # a helper that makes it has other callers
        related = () if site == maker.site else (Related("made_at", maker.site, operator),)
        return Cause(f"{message}made of", site, related, op=maker.operation.name, tensor=name)
    message = f"the output is computed here from what {what} was made of before, and not from {what}"
    return Cause(message, old, (Related("made_at", maker.site, operator),), op=maker.operation.name, tensor=name)


def _old_one_read(case: Case, call: Backward, maker: int) -> Site | None:
    """The line that goes on to the output from what a new tensor was made of, once that was there.

    In the function that asks for the derivative, or that made the new tensor, where it runs under one: a model is
    called there.
    """
    flow = dataflow(case)
    old = {read.tensor for read in flow.operations[maker].reads if read.tensor in flow.useful}
    for operation in flow.operations[maker + 1 :]:
        reads_old = operation.backward is None and not old.isdisjoint(read.tensor for read in operation.reads)
        if reads_old and not flow.useful.isdisjoint(operation.makes):
            named = [site.function for site in (call.site, flow.operations[maker].site) if site is not None]
            lines = operation.operation.stack
            within = (site for function in named for site in lines if site.function == function)
            return next(within, operation.site)
    return None
