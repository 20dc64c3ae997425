"""GS759: a mask of attention that hides the tokens and shows the padding.

The surprise: nn.MultiheadAttention and the layers around it take True for "is hidden".
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import COPIES, FORMS
from gradscope.explain.evidence.trails import trail
from gradscope.model.finding import Related, Severity
from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site, Stack

_TAKES = "_canonical_mask"  # of torch.nn.functional: a mask of truth values becomes one of numbers
_FAR = 16  # tensors between a comparison and the attention, at most
_AS_IT_IS = (*FORMS, *COPIES, "slice", "select", "index", "repeat", "stack", "cat")
_BELOW, _OTHER = ("lt", "le"), "ne"


def padding_attended(case: Case) -> Iterator[Cause]:
    """What it flags: nn.MultiheadAttention, or a layer of nn.Transformer, is given a mask that is True for the tokens.

    Why: there, True hides a key. A mask that is True where a token stands hides all tokens and leaves the padding: the
    model learns from embeddings of nothing; a sample without padding has nothing to look at, and gives NaN.

    Wrong:
        mask = tokens != padding
        encoder(embedded, src_key_padding_mask=mask)

    Right:
        mask = tokens == padding
        encoder(embedded, src_key_padding_mask=mask)

    Do instead: pass ~mask.

    How it is found: the mask that the call turns into numbers comes from `tokens != number`, or from places that are
    counted up and compared to be below lengths; between the two it was given another form, and not turned around. The
    latter is a hint: padding may come first.
    """
    flow = dataflow(case)
    said: set[Site] = set()
    for at in flow.under(_takes_a_mask):
        operation = flow.operations[at]
        if not base_name(operation.operation.name).startswith("masked_fill") or len(operation.reads) != 2:
            continue
        mask, site = operation.reads[1], operation.site
        made = _true_for_tokens(flow, mask.tensor, at)
        if made is not None and site is not None and site not in said:
            said.add(site)
            place = made.site or site
            related = (Related("called_at", site, "attends"),) if place != site else ()
            counted = base_name(made.operation.name) in _BELOW
            message = "this mask is True where a token stands, and the attention that takes it hides what is True"
            yield Cause(
                "where padding comes last, " * counted + message,
                place,
                related,
                certain=False,
                severity=Severity.INFO if counted else None,
                op=made.operation.name,
            )


def _takes_a_mask(stack: Stack) -> bool:
    return any(one.function == _TAKES and one.origin is Origin.TORCH for one in stack)


def _true_for_tokens(flow: RecordedDataflow, mask: int, before: int) -> FlowOperation | None:
    """The comparison that made a mask and is True for tokens; None where it is False for them, or is not known."""
    for at, one in trail(flow, mask, before, _formed, _FAR):
        name = base_name(one.operation.name)  # what turns it around has another form: the trail ends there
        if name == _OTHER:
            return one if len(one.reads) == 1 and flow.is_whole(one.reads[0].tensor) else None
        if name in _BELOW:
            return one if one.reads and _is_counted(flow, one.reads[0].tensor, at) else None
    return None


def _is_counted(flow: RecordedDataflow, tensor: int, before: int) -> bool:
    """Whether a tensor holds places that were counted up."""
    made = trail(flow, tensor, before, _formed, _FAR)
    return any(base_name(one.operation.name) == "arange" for _, one in made)


def _formed(operation: FlowOperation) -> list[int]:
    is_form = base_name(operation.operation.name) in _AS_IT_IS
    return [one.tensor for one in operation.reads[:1] if is_form]
