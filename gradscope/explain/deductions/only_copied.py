"""Parameters that nothing but copies without a graph is made of."""

from __future__ import annotations

from gradscope.explain.deductions.optimizer_parameters import is_updated_by_hand
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.forms import COPIES
from gradscope.model.operation import base_name


def is_only_copied(case: Case, tensor: int) -> bool:
    """Whether all that reads a parameter cuts its values off, or a clone of it: what had its name in a graph was a copy
    that was called in its place. A clone says less where the program sets the parameter by itself."""
    flow = dataflow(case)
    operations = ((at, flow.operations[at]) for at in flow.readers.get(tensor, ()))
    reading = {at for at, each in operations if each.backward is None and each.operation.grad}
    way = flow.onward(tensor)
    cuts = {cut.operation for cut in way.cuts}
    copies = {at for at in way.operations if base_name(flow.operations[at].operation.name) in COPIES}
    if not reading or not cuts or not reading.union(way.operations) <= cuts | copies:
        return False
    return reading <= cuts or tensor not in flow.tensors or not is_updated_by_hand(case, flow.tensors[tensor])
