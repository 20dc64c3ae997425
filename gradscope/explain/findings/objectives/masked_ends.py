"""GS858: the end of a text is taken for padding, and no label is left to learn it from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.finding import Related
from gradscope.model.operation import base_name

_PAD, _END = (re.compile(rf"^_?{one}(_?(token|tok|id|idx|index|token_id))?$", re.IGNORECASE) for one in ("pad", "eos"))
_IGNORED = -100  # what torch's losses leave out unless they are told another
_LABELLED = ("nll_loss_forward", "nll_loss2d_forward", "_log_softmax")
_COLLATOR = "DataCollatorForLanguageModeling"  # of transformers: it leaves out the labels that are padding


def end_is_padding(case: Case) -> Iterator[Cause]:
    """What it flags: the padding token is set to the one that ends a text, and labels that are padding are left out.

    Why: with the padding every end of a text is left out of the loss. The model is never trained to stop, and what it
    writes goes on until it is cut.

    Wrong:
        tokenizer.pad_token = tokenizer.eos_token
        labels[labels == tokenizer.pad_token_id] = -100

    Right:
        tokenizer.pad_token = tokenizer.eos_token
        labels[attention_mask == 0] = -100

    Do instead: leave out what the attention mask or the lengths say is padding, or take a token of its own to pad with.

    How it is found: in the program's text, where a loss over classes ran. A hint: texts may end in another token.
    """
    if not any(base_name(one.name) in _LABELLED for block in case.blocks() for one in block.operations):
        return
    made, left_out = (list(syntax(case).everywhere(one)) for one in (_pads_with_the_end, _leaves_padding_out))
    if made and left_out:
        yield Cause(
            "padding is the token that ends a text here, and labels that are padding are left out: so is each end",
            made[0],
            (Related("masked_by", left_out[0], "leaves them out"),),
            certain=False,
        )


def _pads_with_the_end(node: ast.AST) -> bool:
    """`tokenizer.pad_token = tokenizer.eos_token`"""
    targets = node.targets if isinstance(node, ast.Assign) else []
    value = node.value if isinstance(node, ast.Assign) else None
    return value is not None and bool(_END.match(last_name(value))) and any(_is_pad(one) for one in targets)


def _leaves_padding_out(node: ast.AST) -> bool:
    """`labels[labels == pad] = -100`, masked_fill and where with that, `ignore_index=pad`, transformers' collator."""
    if isinstance(node, ast.Assign):
        places = [one.slice for one in node.targets if isinstance(one, ast.Subscript)]
        return _is_ignored(node.value) and any(map(_is_padding, places))
    if not isinstance(node, ast.Call):
        return False
    given = [*node.args, *(one.value for one in node.keywords)]
    if last_name(node.func) in ("masked_fill", "masked_fill_", "where"):
        return any(map(_is_ignored, given)) and any(map(_is_padding, given))
    return last_name(node.func) == _COLLATOR or any(
        one.arg == "ignore_index" and _is_pad(one.value) for one in node.keywords
    )


def _is_padding(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and any(_is_pad(one) for one in (node.left, *node.comparators))


def _is_pad(node: ast.AST) -> bool:
    return bool(_PAD.match(last_name(node)))


def _is_ignored(node: ast.AST) -> bool:
    """-100, or a constant that says so by its name."""
    value = node.operand if isinstance(node, ast.UnaryOp) else None
    named = last_name(node).lower().startswith("ignore")
    return named or (isinstance(value, ast.Constant) and value.value == -_IGNORED)
