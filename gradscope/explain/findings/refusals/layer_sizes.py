"""GS861: a layer that was built for another size than what comes in."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.refusals import Refusal, refused
from gradscope.explain.deductions.lines.settings import parameter_line
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.failure import Failure
from gradscope.model.site import Origin, Site, Stack

_CONVOLUTIONS = tuple(f"Conv{part}{n}d" for part in ("", "Transpose") for n in (1, 2, 3))
_BATCH_NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "InstanceNorm1d", "InstanceNorm2d")
_POOLS = tuple(f"{kind}Pool{n}d" for kind in ("Max", "Avg") for n in (1, 2, 3))
_ATTENTION = ("MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer")
_ELSEWHERE = "; if that is not what you mean to give it, print x.shape after the layers before"

_KEEPS = ("Parameter(", "register_buffer(", "register_parameter(")


def _kept(case: Case, failure: Failure, groups: tuple[str, ...]) -> Site | None:
    """The line that makes the only parameter or buffer of `self` which the line that failed computes with."""
    used = {ast.unparse(node) for node in source_lines.at(case, failure.site) if isinstance(node, ast.Attribute)}
    if failure.site is None:
        return None
    file = failure.site.file
    made: dict[str | None, list[Site]] = defaultdict(list)
    for node in syntax(case).nodes(file):
        if isinstance(node, (ast.Assign, ast.Expr)) and any(call in ast.unparse(node.value) for call in _KEEPS):
            site = syntax(case).site(file, node.lineno)
            made[source_lines.assigned(case, site)].append(site)
    found = [sites for name, sites in made.items() if name in used]
    only = found[0][0] if len(found) == 1 and len(found[0]) == 1 else None
    return None if only is None else (_sized(case, only, groups) or only)


def _sized(case: Case, made: Site, sizes: tuple[str, ...]) -> Site | None:
    """The line that gives the module which makes it one of the two sizes, as an argument."""
    owner = source_lines.class_around(case, made)
    parameters = source_lines.method(owner, "__init__")
    stack = () if owner is None else _built(case, owner.name)
    if not stack or parameters is None:
        return None
    inside = replace(made, origin=Origin.USER)
    given = {parameter_line(case, (inside, *stack), one.arg) for one in parameters.args.args[1:]}
    fitting = [one for one in given if one is not None and {*re.findall(r"\d+", one.source or "")} & {*sizes}]
    return fitting[0] if len(fitting) == 1 else None


def _built(case: Case, name: str) -> Stack:
    """The stack of the only line that builds a class, as far as what is built beside it tells who called."""
    made = set(syntax(case).everywhere(lambda node: isinstance(node, ast.Call) and called_name(node) == name))
    if len(made) != 1:
        return ()
    site = replace(made.pop(), origin=Origin.USER)
    here = syntax(case).function(site)
    stacks = (one.stack for one in case.declarations())
    above = ((stack, at) for stack in stacks for at, one in enumerate(stack) if syntax(case).function(one) is here)
    return (site, *next((stack[at + 1 :] for stack, at in above), ()))


LAYERS = (
    Refusal(
        re.compile(r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton"),
        "this is kept in one size: {0} and {1} meet here",
        "make it as large as the longest input, and take the part that is needed",
        where=_kept,
    ),
    Refusal(
        re.compile(r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)"),
        "this layer takes {1} features, and {0} come in",
        "build it with in_features={0}" + _ELSEWHERE,
        modules=("Linear",),
    ),
    Refusal(
        re.compile(r"weight of size \[.*?\], expected input\[.*?\] to have (\d+) channels, but got (\d+) channels"),
        "this convolution takes {0} channels, and {1} come in",
        "build it with in_channels={1}; where channels are the last dimension, move them with permute(0, 3, 1, 2)",
        modules=_CONVOLUTIONS,
    ),
    Refusal(
        re.compile(r"Kernel size: \((.*?)\)\. Kernel size can't be greater than actual input size"),
        "a kernel of {0} is larger than what is left of the input",
        "take fewer strides and poolings before it, padding, or larger inputs",
        modules=_CONVOLUTIONS,
    ),
    Refusal(
        re.compile(r"Given input size: \((.*?)\)\. Calculated output size: .*Output size is too small"),
        "nothing is left of an input of {0} here",
        "take fewer strides and poolings before it, padding, or larger inputs",
        modules=_POOLS,
    ),
    Refusal(
        re.compile(r"running_mean should contain (\d+) elements not (\d+)"),
        "this normalises {1} channels, and {0} come in",
        "build it with num_features={0}, as many as the layer before it gives",
        modules=_BATCH_NORMS,
    ),
    Refusal(
        re.compile(r"Given normalized_shape=\[(.*?)\], expected input with shape .*?input of size ?\[.*?(\d+)\]"),
        "this normalises over [{0}], and the last dimension has {1}",
        "build it with the sizes of the last dimensions of what comes in",
        modules=("LayerNorm", "RMSNorm"),
    ),
    Refusal(
        re.compile(r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)"),
        "this takes {0} features a step, and {1} come in",
        "build it with input_size={1}" + _ELSEWHERE,
        modules=("RNN", "LSTM", "GRU", "LSTMCell", "GRUCell", "RNNCell"),
    ),
    Refusal(
        re.compile(r"was expecting embedding dimension of (\d+), but got (\d+)"),
        "this attends over embeddings of {0}, and {1} come in",
        "build it with embed_dim (or d_model) {1}" + _ELSEWHERE,
        modules=_ATTENTION,
    ),
    Refusal(
        re.compile(r"key_padd(?:ed|ing)_mask.*?(?:to be|shape) \(?(\d+).*?(?:but )?got \(?(\d+)"),
        "this takes the second dimension for the batch, and so expects a padding mask of {0} rows, where {1} come",
        "build it with batch_first=True, where the batch comes first",
        modules=_ATTENTION,
    ),
)


def layer_does_not_fit(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in a layer that was built for another size than what comes in.

    Why: a layer has the sizes that it was built with. What comes in depends on all before it: on the size of the
    images, on strides and padding, on what is concatenated, on which dimension is meant to be the batch.

    Wrong:
        self.conv = nn.Conv2d(3, 8, 3)              # of images of 16 by 16: 14 by 14 are left
        self.fc = nn.Linear(8 * 16 * 16, 10)

    Right:
        self.conv = nn.Conv2d(3, 8, 3)
        self.fc = nn.Linear(8 * 14 * 14, 10)

    Do instead: build the layer with the size that comes in, or mend what comes in.

    How it is found: torch's refusal names both sizes, and the operator that was refused ran inside this layer. The line
    is the one that built it. Where several lines built the layer, nothing is told.
    """
    for one in refused(case, LAYERS):
        if one.built is not None:
            yield one.cause
