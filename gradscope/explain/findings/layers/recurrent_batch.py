"""GS854, of recurrent layers: told by the sizes, the loss's samples and what is taken of the result."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.module_builds import built_at
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.module import ModuleCall
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_RECURRENT = ("LSTM", "GRU", "RNN")
_SELECTS = "select"
_FEWEST = 2  # forwards that agree


def runs_over_batch(case: Case, samples: dict[int, set[int]]) -> Iterator[Cause]:
    """Recurrent layers that take the first dimension for time, of whose result one row is taken along the second, where
    the loss has as many samples as there are places in time. `samples`: those of the losses, by stretch of operators.
    """
    found: dict[Site, list[tuple[FlowOperation, ModuleCall, int, int, bool]]] = defaultdict(list)
    flow = dataflow(case)
    for at, operation in enumerate(flow.operations):
        taken = base_name(operation.operation.name) == _SELECTS and operation.backward is None and operation.reads
        maker = flow.maker(operation.reads[0].tensor, at) if taken else None
        module = None if maker is None else flow.operations[maker].operation.module
        shape = flow.shape(operation.reads[0].tensor) if module is not None else ()
        if not samples.get(operation.run):
            continue  # nothing is trained by it
        if module is None or module.module_class not in _RECURRENT or len(shape) != 3 or operation.site is None:
            continue
        made = flow.shape(operation.makes[0]) if operation.makes else ()
        over = shape[1] not in (1, shape[0]) and made == (shape[0], shape[2]) and samples[operation.run] == {shape[0]}
        found[operation.site].append((operation, module, shape[0], shape[1], over))
    for site, met in found.items():
        operation, module, places, rows, _ = met[0]
        built = built_at(case, module)
        if len(met) >= _FEWEST and all(one[-1] for one in met) and _takes_time_first(case, built):
            message = f"{module.label} runs over {places} places in {rows} rows, and the loss has {places} samples: "
            message += "its state goes from one sample to the next"
            related = (Related("called_at", site, operation.operation.name),)
            advice = "build it with batch_first=True, or give it (time, batch, features)"
            yield Cause(message, built, related, certain=False, op=operation.operation.name, advice=advice)


def _takes_time_first(case: Case, built: Site | None) -> bool:
    """Whether the call that builds a layer says nothing of batch_first."""
    calls = [one for one in source_lines.at(case, built) if isinstance(one, ast.Call)]
    own = [one for one in calls if last_name(one.func) in _RECURRENT]
    return len(own) == 1 and not any(one.arg in ("batch_first", None) for one in own[0].keywords)
