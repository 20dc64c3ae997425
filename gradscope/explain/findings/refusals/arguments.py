"""GS864: an operator that is given another dtype or device than it takes, or no tensor at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.named_values import without_return
from gradscope.explain.deductions.lines.refusals import Refusal, refused
from gradscope.explain.deductions.lines.sample_parts import input_line
from gradscope.explain.evidence.case import Case
from gradscope.model.failure import Failure
from gradscope.model.site import Site

_NOTHING = "what comes in is None, as from a function that returns nothing"
_RETURN = "return the result, in forward() and in whatever makes this value"
_LOSSES = ("binary_cross_entropy_with_logits", "binary_cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss")
_DTYPES = "make both of one dtype: .float() of what numpy made, whose numbers are float64; or .to(other.dtype)"


def _silent(case: Case, failure: Failure, _: tuple[str, ...]) -> Site | None:
    """The only forward() that returns nothing."""
    found = [site for name, site in without_return(case) if name == "forward"]
    return found[0] if len(found) == 1 and found[0] != failure.site else None


def _sample(case: Case, failure: Failure, _: tuple[str, ...]) -> Site | None:
    """The dataset's line that makes what comes in."""
    return input_line(case, failure.stack)


ARGUMENTS = (
    Refusal(
        re.compile(r"RNN input dtype \(([\w.]+)\) does not match weight dtype \(([\w.]+)\)"),
        "{0} comes in where the weights are {1}",
        _DTYPES,
        where=_sample,
    ),
    Refusal(
        re.compile(r"argument '\w+' \(position \d+\) must be Tensor, not NoneType"), _NOTHING, _RETURN, where=_silent
    ),
    Refusal(re.compile("'NoneType' object has no attribute '"), _NOTHING, _RETURN, functions=_LOSSES, where=_silent),
    Refusal(
        re.compile(r"argument '\w+' \(position \d+\) must be Tensor, not tuple"),
        "what comes in is a tuple, as recurrent layers and attention return",
        "take the part that is meant: output, state = layer(x); in nn.Sequential that needs a module of its own",
    ),
    Refusal(
        re.compile(r"argument '\w+' \(position \d+\) must be Tensor, not (list|float|int|\w*ndarray)"),
        "what comes in is no tensor but {0}",
        "make a tensor of it: torch.tensor() or torch.from_numpy() of plain values, torch.stack() of tensors",
    ),
    Refusal(
        re.compile(r"must have the same dtype, but got (\w+) and (\w+)"),
        "{0} comes in where the weights are {1}",
        _DTYPES,
        where=_sample,
    ),
    Refusal(
        re.compile(r"Input type \(([\w.]+)\) and (?:bias|weight) type \(([\w.]+)\) should be the same"),
        "{0} comes in where the weights are {1}",
        _DTYPES + "; and both to one device",
        where=_sample,
    ),
    Refusal(
        re.compile(r"expected m1 and m2 to have the same dtype, but got: (?:c10::)?(\w+) != (?:c10::)?(\w+)"),
        "{0} and {1} are multiplied",
        _DTYPES,
        where=_sample,
    ),
    Refusal(
        re.compile(r"expected scalar type (\w+) but found (\w+)"),
        "{1} comes in where {0} is expected",
        _DTYPES,
        where=_sample,
    ),
    Refusal(
        re.compile(r"Expected all tensors to be on the same device|is not on the expected device"),
        "tensors of several devices meet here",
        "make what forward() makes on x.device, register constants as buffers, and move the batch as well",
    ),
    Refusal(
        re.compile(r"argument #1 'indices' to have one of the following scalar types: .*; but got torch\.(\w+)"),
        "an embedding is given {0}, and takes whole numbers",
        "give it ids.long()",
    ),
    Refusal(
        re.compile("tensors used as indices must be long, int, byte or bool tensors"),
        "what is used as an index has a floating point dtype",
        "give it index.long(), or a mask of booleans",
    ),
    Refusal(
        re.compile(r"(gather|scatter\w*|index_\w+|take\w*)\(\): Expected dtype int\S* for index"),
        "the index of {0}() has a floating point dtype",
        "give it index.long()",
    ),
    Refusal(
        re.compile(r"could not infer output dtype\. .*Got: (\w+)|not implemented for '(Long|Int|Bool|Byte)'"),
        "this takes floating point, and is given {0}{1}",
        "give it x.float()",
    ),
    Refusal(
        re.compile("`-` operator,? (?:with|on) (?:a|two) bool tensors? is not supported"),
        "truth values are subtracted",
        "invert a mask with ~mask, or count with mask.float()",
    ),
    Refusal(
        re.compile(r"masked_fill_ only supports boolean masks|where expected condition to be a boolean tensor"),
        "the mask holds no truth values",
        "give it mask.bool(), or compare: mask == 0",
    ),
    Refusal(
        re.compile("can't optimize a non-leaf Tensor"),
        "what is to be optimized is a result of something, and not a leaf",
        "call requires_grad_() last, after .to(device), a product or a reshape; or detach().requires_grad_()",
    ),
    Refusal(
        re.compile("some parameters appear in more than one parameter group"),
        "a parameter is in two groups",
        "leave out of the one group what the other has; shared (tied) weights count once",
    ),
    Refusal(
        re.compile(
            r"params argument given to the optimizer should be an iterable of Tensors or dicts, but got ([\w.]+)"
        ),
        "the optimizer is given one {0} where it takes several parameters",
        "give it a list: [parameter]",
    ),
    Refusal(
        re.compile("only Tensors of floating point (?:and complex )?dtype can require gradients"),
        "whole numbers have no gradient",
        "make them floating point: x.float().requires_grad_()",
    ),
    Refusal(
        re.compile(r"batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class '([\w.]+)'>"),
        "the dataset returns {0}, of which no batch is made",
        "return tensors or numbers from __getitem__, or hand a collate_fn to the DataLoader",
    ),
    Refusal(
        re.compile("num_samples should be a positive integer value, but got num_samples=0"),
        "the dataset is empty",
        "look at where its files or rows are looked for, and what is filtered",
    ),
    Refusal(
        re.compile(r"argument '\w+' \(position \d+\) must be Tensor, not (dict|\w*Output\w*)"),
        "what comes in is a {0}, as many models return",
        'take the part that is meant by its name: out["logits"], out.logits',
    ),
    Refusal(
        re.compile(r"argument '\w+' \(position \d+\) must be Tensor, not str"),
        "what comes in is a text: a key of the dict that a model returned, where its parts were meant",
        "take the part that is meant by its name, out.last_hidden_state; to go through a dict gives its keys",
    ),
    Refusal(
        re.compile(r"result type (\w+) can't be cast to the desired output type (\w+)"),
        "{0} is to be written into {1}",
        "make what is written into floating point: torch.zeros(n), x.float()",
    ),
    Refusal(
        re.compile("At least one stride in the given numpy array is negative"),
        "numpy's flip, or [::-1], only reads an array backwards, and torch does not",
        "give it a copy: torch.from_numpy(x.copy()), or flip in torch",
    ),
    Refusal(
        re.compile(r"can't convert np\.ndarray of type numpy\.(\w+)\."),
        "numpy's array holds {0}, and no numbers that torch knows",
        "make its rows equally long and its values numbers: x.astype(np.float32)",
    ),
    Refusal(
        re.compile("`lengths` array must be sorted in decreasing order"),
        "the sequences are not sorted by their lengths",
        "give it enforce_sorted=False",
    ),
)


def argument_does_not_fit(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in an operator that is given another dtype or device than it takes, or no
    tensor at all.

    Why: indices are whole numbers, masks are truth values, weights are float32 where numpy's numbers are float64, and
    a recurrent layer returns two things.

    Wrong:
        prediction = self.layer(torch.from_numpy(table))    # float64

    Right:
        prediction = self.layer(torch.from_numpy(table).float())

    Do instead: give it what it takes.

    How it is found: torch's refusal. The line is the call; where None came in, it is the only forward() that returns
    nothing.
    """
    for one in refused(case, ARGUMENTS):
        yield one.cause
