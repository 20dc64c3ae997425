"""GS854: attention over the samples of a batch, told by the sizes alone.

The surprise: shapes fit everywhere. A module without batch_first takes the first dimension for time, whatever it is.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.module_builds import built_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.findings.layers.recurrent_batch import runs_over_batch
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.module import ModuleCall
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_ATTENDS = "_scaled_dot_product"
_SOFTMAX = ("_softmax", "_safe_softmax")
_LOSSES = (
    *("nll_loss_forward", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"),
)
_FEWEST = 2  # forwards that agree


def attends_over_batch(case: Case) -> Iterator[Cause]:
    """What it flags: attention between as many places as the loss has samples, in another number of rows.

    Why: nn.MultiheadAttention and the layers of nn.Transformer take (time, batch, features) unless they are built with
    batch_first=True. Given the batch first, each sample is mixed with the other samples of its batch, and nothing
    with its own past: what the model learns depends on who else is in the batch.

    Wrong:
        layer = nn.TransformerEncoderLayer(d_model=32, nhead=4)
        logits = head(encoder(tokens)[:, 0])    # tokens: batch, time, features

    Right:
        layer = nn.TransformerEncoderLayer(d_model=32, nhead=4, batch_first=True)
        logits = head(encoder(tokens)[:, 0])

    Do instead: build the module with batch_first=True, or give it (time, batch, features).

    How it is found: in each forward that was followed the number of places which attend to one another is that of the
    samples in the loss, and the number of rows beside the heads is no multiple of it. A hint: attention between samples
    may be meant. Of recurrent layers: they are built without batch_first, the loss has as many samples as the layer has
    places in time, and of its result one row is taken along the second dimension.
    """
    flow = dataflow(case)
    losses: dict[int, set[int]] = defaultdict(set)
    attending: dict[Site, list[tuple[FlowOperation, int, int]]] = defaultdict(list)
    for operation in flow.operations:
        if operation.backward is None and operation.site is not None and operation.reads and operation.operation.grad:
            found = _attention(flow, operation)
            if found is not None:
                attending[operation.site].append((operation, *found))
            elif base_name(operation.operation.name) in _LOSSES:
                losses[operation.run] |= {*flow.shape(operation.reads[0].tensor)[:1]}
    yield from runs_over_batch(case, losses)
    for site, met in attending.items():
        calls = [call for call in met if losses[call[0].run]]
        over = (_is_over_samples(losses[one.run], rows, places) for one, rows, places in calls)
        if len({one.run for one, *_ in calls}) >= _FEWEST and all(over):
            operation, rows, places = calls[0]
            message = f"attention between {places} places in {rows} rows, where the loss has {places} samples: "
            message += "each sample attends to the others of its batch"
            built = _built_at(case, operation.operation.module)
            related = (Related("called_at", site, operation.operation.name),) if built not in (None, site) else ()
            yield Cause(message, built or site, related, certain=False, op=operation.operation.name)


def _is_over_samples(samples: set[int], rows: int, places: int) -> bool:
    return samples == {places} and rows > 1 and rows % places != 0


def _attention(flow: RecordedDataflow, operation: FlowOperation) -> tuple[int, int] | None:
    """The rows and places of an attention of a sequence to itself: of (rows, heads, places, places or features)."""
    name, shape = base_name(operation.operation.name), flow.shape(operation.reads[0].tensor)
    if len(shape) != 4 or not any(one.requires_grad for one in operation.reads):
        return None
    if name.startswith(_ATTENDS):
        keys = flow.shape(operation.reads[1].tensor) if len(operation.reads) > 1 else ()
        return (shape[0], shape[2]) if keys[2:3] == shape[2:3] else None
    return (shape[0], shape[2]) if name in _SOFTMAX and shape[2] == shape[3] else None


def _built_at(case: Case, module: ModuleCall | None) -> Site | None:
    """The line that built the module or the nearest one around it that was built; where a layer was handed to that one,
    the line that built the layer."""
    while module is not None:
        built = built_at(case, module)
        if built is not None:
            return _layer_of(case, built) or built
        module = module.parent
    return None


def _layer_of(case: Case, built: Site) -> Site | None:
    """Where the first argument of a call was made, if that is a name which a call was given before."""
    calls = (one for one in syntax(case).nodes(built.file) if isinstance(one, ast.Call) and one.lineno == built.line)
    names = {one.args[0].id for one in calls if one.args and isinstance(one.args[0], ast.Name)}
    made = [
        one.lineno
        for one in syntax(case).nodes(built.file)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and one.lineno < built.line
        if any(isinstance(target, ast.Name) and target.id in names for target in one.targets)
    ]
    return syntax(case).site(built.file, max(made)) if made else None
