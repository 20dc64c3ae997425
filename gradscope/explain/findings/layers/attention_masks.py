"""GS846: a mask of attention that lets each token see only those after it, or none where what comes next is learned.

The surprise: F.scaled_dot_product_attention takes True for "may look at", nn.Transformer's layers for "is hidden".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import COPIES, WIDENED
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.notice import ONE_AHEAD
from gradscope.model.operation import base_name
from gradscope.model.site import Origin, Site, Stack, user_site

_FUSED = "_scaled_dot_product"
_QKV = 3
_BY_HAND = ("_softmax", "_safe_softmax")
_MASKS = re.compile(r"mask|causal|tri[lu]|GRU|LSTM|RNN", re.IGNORECASE)
_ATTENTION = "scaled_dot_product_attention"
_AS_IT_IS = (*WIDENED, *COPIES, "slice", "select")


def sees_the_future(case: Case) -> Iterator[Cause]:
    """What it flags: F.scaled_dot_product_attention with a truth mask that is the upper triangle.

    Why: there, True says that a query may look at a key. With the upper triangle each token sees those that come after
    it, and none before: a language model learns to copy what it is to predict, or nothing.

    Wrong:
        mask = torch.triu(torch.ones(n, n), diagonal=1).bool()
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    Right:
        mask = torch.triu(torch.ones(n, n), diagonal=1).bool()
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=~mask)

    Do instead: pass ~mask, or leave the mask out and say is_causal=True.

    How it is found: in the first steps, the mask that the call turns into numbers was made by triu, and between the two
    nothing but views, copies and conversions touched it. Or the labels of a loss are the tokens that were read, one
    place further on, each token attends to as many as there are, and the program has no word of a mask: then a token
    sees the one that it is to predict.
    """
    flow = dataflow(case)
    yield from _without_mask(case, flow)
    said: set[Site] = set()
    for at in flow.under(partial(_attends, case)):
        operation, site = flow.operations[at], flow.operations[at].site
        if site is None or site in said or not _turns_a_mask(operation):
            continue
        made = _upper_triangle(flow, operation.reads[0].tensor, at)
        if made is not None:
            said.add(site)
            yield Cause(
                "this mask is True above the diagonal, where True lets a token look: each sees only those after it",
                site,
                (Related("made_at", made.site, "triu"),) if made.site is not None else (),
                op=made.operation.name,
            )


def _without_mask(case: Case, flow: RecordedDataflow) -> Iterator[Cause]:
    """Attention of a model that learns what comes next, in a program that neither masks nor goes step by step."""
    learned = next((notice.site for notice in case.notices() if notice.what == ONE_AHEAD), None)
    if learned is None or any(_MASKS.search(source) for source in _sources(case)):
        return
    if any(True for file in syntax(case).files for _ in syntax(case).calls(file, _gives_more)):
        return
    for operation in flow.operations:
        site = operation.site
        if operation.backward is None and site is not None and _attends_to_all(flow, operation):
            yield Cause(
                "each token sees those after it, one of which it is to predict: this attention has no mask",
                site,
                (Related("called_at", learned, "the loss"),),
                certain=False,
                advice="give it a mask that hides what comes after: "
                "nn.Transformer.generate_square_subsequent_mask(length), or is_causal=True.",
            )
            return


def _attends_to_all(flow: RecordedDataflow, operation: FlowOperation) -> bool:
    """Whether an operator is attention, without a tensor for a mask, of tokens to as many others."""
    if any(one.origin not in (Origin.USER, Origin.TORCH) for one in operation.operation.stack):
        return False  # another library's model, of which this program's text tells nothing
    name = base_name(operation.operation.name)
    if name.startswith(_FUSED) and len(operation.reads) == 3:
        query, key = (flow.shape(one.tensor) for one in operation.reads[:2])
        return query[-2:-1] == key[-2:-1] and query[-2] > 1
    made = flow.shape(operation.makes[0]) if name in _BY_HAND and operation.makes else ()
    return len(made) > 2 and made[-1] == made[-2] > 1


def _gives_more(node: ast.AST) -> bool:
    """A call that gives the function a mask, or says that it is causal, without a word for it."""
    return isinstance(node, ast.Call) and last_name(node.func) == _ATTENTION and len(node.args) > _QKV


def _sources(case: Case) -> Iterator[str]:
    """The program's text, without its comments and texts."""
    for file in syntax(case).files:
        tree = syntax(case).tree(file)
        if tree is not None:
            names = (one.id for one in ast.walk(tree) if isinstance(one, ast.Name))
            attributes = (one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute))
            given = (one.arg or "" for one in ast.walk(tree) if isinstance(one, (ast.keyword, ast.arg)))
            yield " ".join((*names, *attributes, *given))


def _attends(case: Case, stack: Stack) -> bool:
    """Whether the user's line calls the function, and makes no choice of its own."""
    site = user_site(stack)
    if site is None:
        return False
    statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
    calls = {last_name(node.func) for node in ast.walk(statement or ast.Module([], [])) if isinstance(node, ast.Call)}
    return _ATTENTION in calls and "where" not in calls


def _turns_a_mask(operation: FlowOperation) -> bool:
    """Whether an operator is what the function itself does with a truth mask: `where(mask, 0, -inf)`."""
    return operation.backward is None and bool(operation.reads) and base_name(operation.operation.name) == "where"


def _upper_triangle(flow: RecordedDataflow, tensor: int, before: int) -> FlowOperation | None:
    """The triu that made a mask which has only been viewed, copied and converted since."""
    known = flow.tensors.get(tensor)
    if known is None or known.type.dtype != "bool":
        return None
    seen: set[int] = set()
    while tensor not in seen:
        seen.add(tensor)
        makers = [flow.operations[at] for at in flow.sources(tensor, before)]
        if len(makers) != 1 or not makers[0].reads:
            return None
        if base_name(makers[0].operation.name) == "triu":
            return makers[0]
        if base_name(makers[0].operation.name) not in _AS_IT_IS:
            return None
        tensor = makers[0].reads[0].tensor
    return None
