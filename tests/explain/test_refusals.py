"""The words of each refusal are those of the torch that is installed, and what is told of them has its numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader

from gradscope.explain.deductions.refusals import Refusal
from gradscope.explain.findings.arguments import ARGUMENTS
from gradscope.explain.findings.layer_sizes import LAYERS
from gradscope.explain.findings.loss_targets import TARGETS
from gradscope.explain.findings.misuse import USES
from gradscope.explain.findings.out_of_range import BOUNDS

TABLES = (*LAYERS, *TARGETS, *USES, *ARGUMENTS, *BOUNDS)


class WithoutForward(nn.Module):
    """What a misspelt method leaves."""


class TooEarly(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(2, 2)


class Assigned(nn.Linear):
    def spoil(self) -> None:
        self.weight = self.weight * 2  # type: ignore[assignment]


def half_of_a_large_number() -> None:
    torch.zeros(2, dtype=torch.float16).masked_fill_(torch.tensor([True, False]), -1e9)


def too_many_steps() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=2)
    for _ in range(4):
        optimizer.step()
        schedule.step()


def masked_attention() -> None:
    x, padding = torch.zeros(4, 5, 8), torch.zeros(4, 5, dtype=torch.bool)
    nn.TransformerEncoderLayer(8, 2, 16)(x, src_key_padding_mask=padding)


long, scores, shared = torch.zeros(4, dtype=torch.long), torch.zeros(4, 3), nn.Parameter(torch.zeros(4, 3))
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: nn.Linear(7, 2)(torch.zeros(4, 5)), "takes 7 features, and 5 come in"),
    (lambda: nn.Conv2d(3, 2, 3)(torch.zeros(1, 1, 8, 8)), "takes 3 channels, and 1 come in"),
    (lambda: nn.ConvTranspose2d(3, 2, 3)(torch.zeros(1, 1, 8, 8)), "takes 3 channels, and 1 come in"),
    (lambda: nn.Conv2d(1, 2, 5)(torch.zeros(1, 1, 3, 3)), "a kernel of 5 x 5 is larger"),
    (lambda: nn.MaxPool2d(4)(torch.zeros(1, 1, 3, 3)), "nothing is left of an input of 1x3x3"),
    (lambda: nn.BatchNorm2d(6)(torch.zeros(2, 3, 4, 4)), "normalises 6 channels, and 3 come in"),
    (lambda: nn.LayerNorm(6)(torch.zeros(2, 3)), "normalises over [6], and the last dimension has 3"),
    (lambda: nn.LSTM(6, 2)(torch.zeros(2, 2, 3)), "takes 6 features a step, and 3 come in"),
    (lambda: nn.MultiheadAttention(8, 2)(*[torch.zeros(2, 2, 6)] * 3), "embeddings of 8, and 6 come in"),
    (masked_attention, "a padding mask of 5 rows, where 4 come"),
    (lambda: F.cross_entropy(torch.zeros(8, 3), long), "8 rows of scores and 4 targets"),
    (lambda: F.cross_entropy(scores, long.float()), "the targets are Float"),
    (lambda: F.binary_cross_entropy_with_logits(scores[:, 0].requires_grad_(), long), "the targets are Long"),
    (lambda: F.binary_cross_entropy(scores[:, 0], long), "the targets are Long"),
    (lambda: F.binary_cross_entropy(scores[:, :1], long.float()), "the target is [4] and what"),
    (lambda: F.binary_cross_entropy_with_logits(scores[:, :1], long.float()), "the target is [4] and what"),
    (lambda: F.binary_cross_entropy(scores[:, 0] - 1, long.float()), "takes probabilities"),
    (lambda: F.cross_entropy(torch.zeros(2, 3, 4, 4), torch.zeros(2, 1, 4, 4).long()), "targets have 4 dimensions"),
    (lambda: F.cross_entropy(scores, long[:, None]), "the targets have two dimensions"),
    (lambda: F.cross_entropy(scores, scores.long()), "the targets are Long in the shape of the scores"),
    (lambda: F.cross_entropy(torch.zeros(2, 5, 3), torch.zeros(2, 5).long()), "the targets are [2, 5], and by"),
    (lambda: F.cross_entropy(scores, long, torch.ones(2)), "weights for 2 classes, and 3 are scored"),
    (lambda: scores.clone().requires_grad_().backward(), "a value for each sample"),
    (lambda: WithoutForward()(scores), "WithoutForward has no forward()"),
    (lambda: torch.optim.SGD([], lr=0.1), "given no parameter"),
    (TooEarly, "before it is one"),
    (lambda: Assigned(2, 2).spoil(), "weight is a parameter"),
    (lambda: scores.clone().requires_grad_().numpy(), "numpy has no graph"),
    (lambda: nn.CrossEntropyLoss(scores, long), "the loss is built with scores"),
    (lambda: bool(scores > 0), "a decision is made by a tensor"),
    (lambda: scores.t().view(-1), "do not lie in memory"),
    (lambda: nn.GRU(3, 2)(torch.zeros(5, 4, 3), torch.zeros(1, 3, 2)), "is [1, 3, 2], and this batch takes [1, 4, 2]"),
    (lambda: nn.Linear(3, 2)(scores.double()), "Double comes in where the weights are Float"),
    (lambda: nn.Conv1d(1, 1, 1)(torch.zeros(1, 1, 1).double()), "double comes in where the weights are float"),
    (lambda: nn.Conv2d(1, 1, 1)(torch.zeros(8, 8)), "conv2d takes 3D or 4D, and is given [8, 8]"),
    (lambda: nn.Linear(3, 1)(None), "what comes in is None"),
    (lambda: F.mse_loss(None, scores), "what comes in is None"),
    (lambda: scores + torch.zeros(4, 2), "3 and 2 meet here"),
    (lambda: nn.Sequential(nn.LSTM(3, 3), nn.Linear(3, 1))(scores), "what comes in is a tuple"),
    (lambda: nn.Linear(3, 1)([1.0, 2.0]), "no tensor but list"),
    (lambda: scores.t() @ scores.double(), "float and double are multiplied"),
    (lambda: torch.bmm(scores[None], scores.t()[None].double()), "Double comes in where Float is expected"),
    (lambda: scores + scores.to("meta"), "tensors of several devices"),
    (lambda: nn.Embedding(2, 2)(scores), "an embedding is given FloatTensor"),
    (lambda: scores[scores], "used as an index has a floating point dtype"),
    (lambda: scores.gather(1, scores), "the index of gather() has"),
    (lambda: scores.gather(1, long), "the index has fewer or more dimensions"),
    (long.mean, "this takes floating point, and is given Long"),
    (lambda: long.softmax(0), "this takes floating point, and is given Long"),
    (lambda: 1 - (scores > 0), "truth values are subtracted"),
    (lambda: -(scores > 0), "truth values are subtracted"),
    (lambda: scores.masked_fill(scores, 0), "the mask holds no truth values"),
    (lambda: torch.where(scores, scores, scores), "the mask holds no truth values"),
    (lambda: scores.view(5, 3), "12 values do not make [5, 3]"),
    (lambda: scores.expand(8, 3), "a size of 4 cannot be repeated to 8"),
    (lambda: torch.optim.SGD([nn.Parameter(scores) * 2], lr=0.1), "a result of something"),
    (lambda: torch.optim.SGD([{"params": [shared]}, {"params": [shared]}], lr=0.1), "in two groups"),
    (lambda: torch.optim.SGD(shared, lr=0.1), "the optimizer is given one torch.FloatTensor"),
    (long.clone().requires_grad_, "whole numbers have no gradient"),
    (lambda: nn.InstanceNorm2d(3)(torch.zeros(1, 3, 1, 1)), "one value a channel"),
    (lambda: next(iter(DataLoader([None, None]))), "the dataset returns NoneType"),
    (lambda: DataLoader([], shuffle=True), "the dataset is empty"),
    (lambda: F.cross_entropy(scores, long + 3), "a label is 3"),
    (lambda: nn.Embedding(2, 2)(long + 2), "not below the number of rows"),
    (too_many_steps, "stepped 3 times, and has 2 steps"),
    (lambda: pack_padded_sequence(scores[..., None], [3, 3, 2, 0], batch_first=True), "is empty"),
    (half_of_a_large_number, "too large for float16"),
]


def refusal(run: Callable[[], object]) -> tuple[Refusal, str]:
    """The first row that fits what torch says, of those whose functions raised it; and what is told."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 the words are what is asked for
        run()
    inner = [one.name for one in raised.traceback][::-1][:2]
    for one in TABLES:
        found = one.words.search(str(raised.value))
        if found is not None and (not one.functions or {*inner} & {*one.functions}):
            return one, one.told.format(*(group or "" for group in found.groups()))
    raise AssertionError(f"no row has these words: {raised.value}")


@pytest.mark.parametrize(("run", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_torch_says_is_known(run: Callable[[], object], told: str) -> None:
    assert told in refusal(run)[1]


def test_each_row_is_tried() -> None:
    assert {refusal(run)[0].told for run, _ in REFUSED} == {one.told for one in TABLES}
