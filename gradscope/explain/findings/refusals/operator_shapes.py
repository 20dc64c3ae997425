"""GS867: an operator that is given shapes which do not fit each other, or fewer dimensions than it names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.refusals import Refusal, refused
from gradscope.explain.evidence.case import Case

_LOOK = "; print the shapes of both just before"

SHAPES = (
    Refusal(
        re.compile("Index tensor must have the same number of dimensions as (?:input|self|src) tensor"),
        "the index has fewer or more dimensions than what it chooses from",
        "gather(1, index.unsqueeze(1)).squeeze(1) takes one value of each row",
    ),
    Refusal(
        re.compile(r"shape '\[(.*?)\]' is invalid for input of size (\d+)"),
        "{1} values do not make [{0}]",
        "take the batch's size from the batch, x.size(0): the last one may be smaller; and look at the sizes before it",
    ),
    Refusal(
        re.compile(r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\)"),
        "a size of {1} cannot be repeated to {0}",
        "only sizes of 1 are repeated: unsqueeze() where a dimension is missing, and take sizes from the batch",
    ),
    Refusal(
        re.compile(r"Expected more than 1 spatial element when training"),
        "instance normalisation is given one value a channel, which it would make 0",
        "take fewer strides before it, larger inputs, or another normalisation",
    ),
    Refusal(
        re.compile(
            r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
        ),
        "sizes {0} and {1} meet in dimension {2}",
        "give both one size there, or a size of 1, which is repeated: unsqueeze() puts it where it is missing" + _LOOK,
    ),
    Refusal(
        re.compile(r"output with shape \[(.*?)\] doesn't match the broadcast shape \[(.*?)\]"),
        "the result is [{1}], and is to be written into [{0}]",
        "write x = x + y, which makes a new tensor, or give both one shape",
    ),
    Refusal(
        re.compile(r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+)"),
        "tensors are joined in dimension {0}, and have {1} and {2} in another one, where they must be equal",
        "crop or pad one of them, resize it to x.shape[2:], or join another dimension",
    ),
    Refusal(
        re.compile(r"Tensors must have same number of dimensions: got (\d+) and (\d+)"),
        "tensors of {0} and of {1} dimensions are joined",
        "give the smaller one a dimension of size 1 with unsqueeze()",
    ),
    Refusal(
        re.compile(
            r"The shape of the mask \[(.*?)\] at index \d+ does not match the shape of the indexed tensor \[(.*?)\]"
        ),
        "a mask of [{0}] chooses from [{1}]",
        "make the mask from what it chooses from, or from what has its first dimensions",
    ),
    Refusal(
        re.compile(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)"),
        "index {0} is asked for in a dimension of {2}",
        "indices begin at 0; look at whether dimension {1} is the one that is meant",
    ),
    Refusal(
        re.compile("index out of range in self"),
        "an index is not below the size of the dimension that it chooses from, or is negative",
        "look at what makes the indices, and at whether what they choose from is still what they were made for",
    ),
    Refusal(
        re.compile(r"too many indices for tensor of dimension (\d+)"),
        "more indices than the {0} dimensions that there are",
        "keep the batch's dimension, with unsqueeze(0) for one sample" + _LOOK,
    ),
    Refusal(
        re.compile(r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)"),
        "dimension {2} is named of what has dimensions {0} to {1}",
        "keep the batch's dimension, with unsqueeze(0) for one sample; or name the last one, dim=-1",
    ),
    Refusal(
        re.compile("invalid index of a 0-dim tensor|iteration over a 0-d tensor|len\\(\\) of a 0-d tensor"),
        "this is one value, without a dimension",
        "take item() for its number; keep the dimension where several values are meant",
    ),
    Refusal(
        re.compile(
            r"dimensions in the tensor input does not match the length .* i\.e\. input\.dim\(\) = (\d+).*? = (\d+)"
        ),
        "{1} dimensions are put in another order, and {0} come in",
        "give it a batch, with unsqueeze(0) for one sample, or name as many dimensions as there are",
    ),
    Refusal(
        re.compile("batch1 must be a 3D tensor|batch2 must be a 3D tensor"),
        "bmm() multiplies batches of matrices, of three dimensions",
        "take matmul(), or @, of two matrices",
    ),
    Refusal(
        re.compile(
            r"Expected size for first two dimensions of batch2 tensor to be: \[\d+, (\d+)\] but got: \[\d+, (\d+)\]"
        ),
        "rows of {0} are multiplied by columns of {1}",
        "turn the second one: k.transpose(-2, -1)",
    ),
    Refusal(
        re.compile(
            r"einsum\(\): subscript (\w+) has size (\d+) for operand \d+ which does not broadcast .* size (\d+)"
        ),
        "{0} stands for a dimension of {1} and for one of {2}",
        "look at which dimension each letter stands for" + _LOOK,
    ),
    Refusal(
        re.compile("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"),
        "repeat() is given fewer numbers than there are dimensions",
        "give it a number for each dimension, 1 where nothing is repeated",
    ),
    Refusal(
        re.compile(r"Padding size should be less than the corresponding input dimension, but got: padding \((.*?)\)"),
        "a padding of ({0}) reflects more than there is",
        'take a smaller padding, larger inputs, or mode="constant" or "replicate"',
    ),
    Refusal(
        re.compile(r"input with spatial dimensions of \[(.*?)\] and output size of \((.*?)\)"),
        "what has [{0}] is resized to ({1})",
        "give it a size for each dimension behind batch and channels",
    ),
    Refusal(
        re.compile(
            r"a Tensor with (\d+) elements cannot be converted to Scalar|only one element tensors can be converted"
        ),
        "one number is asked for of a tensor of several",
        "reduce it first, x.mean().item(); of a list of tensors make one with torch.stack(), which keeps the graph",
    ),
    Refusal(
        re.compile(
            "stack expects each tensor to be equal size, but got (\\[.*?\\]) at entry 0 and (\\[.*?\\]) at entry"
        ),
        "tensors of {0} and of {1} are stacked",
        "bring them to one shape first, or pad them: torch.nn.utils.rnn.pad_sequence()",
    ),
)


def shapes_do_not_fit(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in an operator that is given shapes which do not fit each other.

    Why: a batch of one without its dimension, the last batch of an epoch, an odd size that was halved and doubled, and
    a mask of other samples look right in the program.

    Wrong:
        chosen = q.gather(1, actions)                   # q: (32, 4), actions: (32,)

    Right:
        chosen = q.gather(1, actions.unsqueeze(1)).squeeze(1)

    Do instead: give it shapes that fit.

    How it is found: torch's refusal, where no other kind has named what made the shapes. The line is the call.
    """
    for one in refused(case, SHAPES):
        yield one.cause
