"""The line behind a NaN where the operator that gave it is not the one to edit.

A softmax of a row that is masked as a whole cannot give anything else: the line that fills in -inf is to blame. A root
that is zero breaks the division by it, and its own derivative besides. A variance as the mean of squares less the
square of the mean is negative where both are large: rounding has made it so, and no root of it can be better. A NaN
that stands for what is missing was put in on purpose: the line that computes with it has forgotten that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.forms import FORMS
from gradscope.model.birth import Birth
from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Node
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_SOFTMAX = ("softmax", "_softmax", "_safe_softmax", "log_softmax", "_log_softmax", "logsumexp")
_FILLS = ("masked_fill", "where")
_OF_POSITIVE = ("sqrt", "rsqrt", "log", "log2", "log10")
_SHIFTS = ("add", "mul", "div", "mean", "sum")
_DIFFERENCES, _PRODUCTS, _POWERS = ("sub",), ("mul",), ("pow", "square")
_ROOTS = ("sqrt", "linalg_vector_norm", "norm")
_VIEWS = (*FORMS, "clone")
_FAR = 8  # views between the two
_PUT_BY = 8  # operators of a line, whose results are followed
_PUTS = ("index_put", "masked_fill", "index_fill", "fill", "copy")  # in place
_ASKS = ("isnan", "nan_to_num")
_TAKES = ("index", "index_select", "select", "slice", "stack", "cat", "clone", "_to_copy")
_PASSES_BY = ("index", "masked_select", "where", "nanmean", "nansum", "nanmedian", "select", "slice", *_VIEWS)


def masking_line(case: Case, birth: Birth) -> Site | None:
    """The line that put -inf into all of a row, of which a softmax was taken."""
    given = birth.argument_named("self")
    if birth.base not in _SOFTMAX or given is None or given.row != (-math.inf, -math.inf):
        return None
    return _maker_at(case, birth.site, _SOFTMAX, 0, _FILLS)


def difference_line(case: Case, birth: Birth) -> Site | None:
    """The line of a difference with a square that is negative, of which a root or a logarithm was taken."""
    given = birth.argument_named("self")
    if birth.base not in _OF_POSITIVE or given is None or given.value is None or not given.value < 0:
        return None
    for operation in _at(case, birth.site, (birth.base,)):
        made = list(_makers(case, operation, 0, (*_VIEWS, *_SHIFTS)))
        if made and _name(made[-1]) in _DIFFERENCES and _squares(case, made[-1]):
            return made[-1].site
    return None


def gaps_read_line(case: Case, birth: Birth) -> Site | None:
    """The first line that computes with values of which NaN says that they are missing.

    Somebody put it there, and the program asks for it later: where it was put in is not to blame.
    """
    if not birth.came_in or birth.backward is not None or birth.base not in (*_PUTS, *_TAKES):
        return None
    operations = dataflow(case).operations
    puts = (at for at, put in enumerate(operations) if put.site == birth.site and _name(put) == birth.base)
    for at in islice((at for at in puts if operations[at].backward is None), _PUT_BY):
        reading = list(_readers_of(case, at))
        asked = {one.site for one in reading if asks_for_gaps(one)}
        if asked:
            return next((one.site for one in reading if one.site not in asked and not _passes_by(one)), None)
    return None


def _readers_of(case: Case, put: int) -> Iterator[FlowOperation]:
    """What reads the memory that an operator wrote or made, or parts of it, in order."""
    flow = dataflow(case)
    made = {flow.tensors[one].storage for one in flow.operations[put].makes if one in flow.tensors}
    storages = flow.written.get(put, set()) | made
    for at in range(put + 1, len(flow.operations)):
        one = flow.operations[at]
        if not storages.isdisjoint(
            flow.tensors[read.tensor].storage for read in one.reads if read.tensor in flow.tensors
        ):
            yield one
            if _name(one) in _TAKES:
                storages |= {flow.tensors[taken].storage for taken in one.makes if taken in flow.tensors}


def _passes_by(operation: FlowOperation) -> bool:
    return _name(operation) in (*_PASSES_BY, *_TAKES)


def asks_for_gaps(operation: FlowOperation) -> bool:
    """Whether an operator asks for NaN: isfinite() compares with itself."""
    itself = _name(operation) in ("eq", "ne") and len({read.tensor for read in operation.reads}) == 1
    return _name(operation) in _ASKS or (itself and len(operation.reads) == 2)


def _squares(case: Case, difference: FlowOperation) -> bool:
    """Whether what is subtracted is a square."""
    made = list(_makers(case, difference, 1))
    if not made:
        return False
    product = _name(made[-1]) in _PRODUCTS and len(made[-1].reads) == 2
    return _name(made[-1]) in _POWERS or (product and len({read.tensor for read in made[-1].reads}) == 1)


def root_line(case: Case, birth: Birth, node: Node) -> Site | None:
    """The line of the root that is zero, where the derivative of a division by it is not finite."""
    bottom = birth.argument_named("other")
    if birth.base != "div" or bottom is None or bottom.value != 0 or not node.name.startswith("DivBackward"):
        return None
    return _maker_at(case, node.site, ("div",), 1, _ROOTS)


def _maker_at(
    case: Case, site: Site | None, operators: tuple[str, ...], argument: int, wanted: tuple[str, ...]
) -> Site | None:
    """The line of the operator that made an argument of one on another line, in the first step that shows it."""
    for operation in _at(case, site, operators):
        for maker in _makers(case, operation, argument):
            if _name(maker) in wanted:
                return maker.site
    return None


def _at(case: Case, site: Site | None, operators: tuple[str, ...]) -> Iterator[FlowOperation]:
    """Operators of a line of the forward."""
    for operation in dataflow(case).operations if site is not None else ():
        if operation.site == site and _name(operation) in operators and operation.backward is None:
            yield operation


def _makers(
    case: Case, operation: FlowOperation, argument: int, through: tuple[str, ...] = _VIEWS
) -> Iterator[FlowOperation]:
    """What made an operator's argument, up to the first that is none of those gone through."""
    flow = dataflow(case)
    for _ in range(_FAR):
        if len(operation.reads) <= argument:
            return
        makers = [
            at for at in flow.makers.get(operation.reads[argument].tensor, ()) if flow.operations[at] != operation
        ]
        if not makers:
            return
        operation, argument = flow.operations[makers[-1]], 0
        yield operation
        if _name(operation) not in through:
            return


def _name(operation: FlowOperation) -> str:
    return base_name(operation.operation.name).rstrip("_")
