"""GS717: of a recurrent net that reads both ways the last step is taken, where its second half has just begun."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.module import ModuleCall
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_REVERSED = "_reverse"  # how torch ends the names of the weights that read from the end
_STATE = "weight_hh_"  # those that a state goes through: as wide as it is, and so is what is given
_PARTS = ("slice", "select", "split", "chunk", "narrow", "index", "unbind", "split_with_sizes")
_PLACES = 2  # the dimensions that can be time: the first, and the second with batch_first
_Call = tuple[int, ModuleCall]


def half_at_its_start(case: Case) -> Iterator[Cause]:
    """What it flags: the last step of a bidirectional LSTM, GRU or RNN, which is taken for what it made of a sequence.

    Why: the second half of its output reads from the end. At the last step it has read one step, and nothing else: half
    of what the next layer gets tells of one step, and the weights that read from the end learn no sequence.

    Wrong:
        out, _ = self.lstm(x)  # bidirectional=True, batch_first=True
        return self.head(out[:, -1])

    Right:
        _, (last, _) = self.lstm(x)
        return self.head(torch.cat([last[-2], last[-1]], dim=1))

    Do instead: take the last states of the two directions, or out[:, -1] of the first half and out[:, 0] of the second;
    a mean or a maximum over time reads both as well. With one direction out[:, -1] is right.

    How it is found: the output of a module whose weights read both ways, as wide as both, goes nowhere but into an
    index by -1 that takes a step of several; what it takes is not cut into halves, and nothing else that the module
    gave is used. A hint.
    """
    flow = dataflow(case)
    widths = _widths(flow)
    if not widths:
        return
    taken, told = _taken(flow, widths), set[Site]()
    for call, readers in taken.items():
        operation = flow.operations[readers[0]]
        site = operation.site
        if (
            len(readers) == 1
            and site is not None
            and site not in told
            and _is_last(case, flow, readers[0], widths[call])
        ):
            told.add(site)
            yield Cause(
                "this takes the last step of both directions: the one that reads from the end has read one step there",
                site,
                _module_line(flow, operation, readers[0]),
                certain=False,
                module=call[1].label,
            )


def _widths(flow: RecordedDataflow) -> dict[_Call, int]:
    """The calls of modules that read both ways, and how wide the state of one direction is."""
    found: dict[_Call, int] = {}
    for operation in flow.operations:
        module = operation.operation.module
        if operation.backward is None and module is not None and operation.operation.grad:
            for read in operation.reads:
                tensor = flow.tensors.get(read.tensor)
                leaf = "" if tensor is None else tensor.leaf or ""
                if tensor is not None and leaf.endswith(_REVERSED) and _STATE in leaf and tensor.type.shape:
                    found[operation.run, module] = tensor.type.shape[-1]
    return found


def _taken(flow: RecordedDataflow, widths: dict[_Call, int]) -> dict[_Call, list[int]]:
    """By such a call, the operators outside of it that read what it made."""
    made: dict[int, _Call] = {}
    found: defaultdict[_Call, list[int]] = defaultdict(list)
    for at, operation in enumerate(flow.operations):
        if operation.backward is None:
            module = operation.operation.module
            here = None if module is None else (operation.run, module)
            for call in {made[one.tensor] for one in operation.reads if one.tensor in made}:
                if call != here:
                    found[call].append(at)
            if here in widths and here is not None and operation.operation.grad:
                made.update(dict.fromkeys(operation.makes, here))
    return found


def _is_last(case: Case, flow: RecordedDataflow, at: int, width: int) -> bool:
    """Whether an operator takes one step, the last of several, of both directions, and the whole of it is used."""
    operation = flow.operations[at]
    if base_name(operation.operation.name) != "select" or not operation.makes or operation.site is None:
        return False
    before, after = _shape(flow, operation.reads[0].tensor, at), flow.shape(operation.makes[0])
    places = {one for one in range(min(_PLACES, len(before))) if before[:one] + before[one + 1 :] == after}
    if len(before) != len(after) + 1 or before[-1] != 2 * width:
        return False
    steps = {before[one] for one in places & _last_of(case, operation.site)}
    readers = [flow.operations[one] for one in flow.readers.get(operation.makes[0], ())]
    cut = any(base_name(one.operation.name) in _PARTS for one in readers if one.backward is None)
    return bool(steps) and min(steps) > 1 and not cut


def _shape(flow: RecordedDataflow, tensor: int, before: int) -> tuple[int, ...]:
    """A tensor's shape, which is told as it was made: torch turns what nn.RNN gives in place with batch_first."""
    made, shape = flow.maker(tensor, before), flow.shape(tensor)
    is_turned = made is not None and base_name(flow.operations[made].operation.name) == "transpose_"
    return (*reversed(shape[:2]), *shape[2:]) if is_turned else shape


def _last_of(case: Case, site: Site) -> set[int]:
    """The dimensions, of the first two, of which the statement of a line takes the last element: `[:, -1]`, `[-1]`."""
    statement = syntax(case).statement(site)
    found: set[int] = set()
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            leading = [at for at, one in enumerate(parts[:_PLACES]) if ast.unparse(one) == "-1"]
            found.update(
                at for at in leading if all(ast.unparse(one) == ":" for one in (*parts[:at], *parts[at + 1 :]))
            )
    return found


def _module_line(flow: RecordedDataflow, operation: FlowOperation, at: int) -> tuple[Related, ...]:
    maker = flow.maker(operation.reads[0].tensor, at)
    called = None if maker is None else flow.operations[maker].site
    return () if called in (None, operation.site) else (Related("called_at", called, "reads both ways"),)
