"""The words of each refusal are those of the torch that is installed, and what is told of them has its numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader

from gradscope.explain.findings.refusals.arguments import ARGUMENTS
from gradscope.explain.findings.refusals.layer_sizes import LAYERS
from gradscope.explain.findings.refusals.loss_targets import TARGETS
from gradscope.explain.findings.refusals.misuse import USES
from gradscope.explain.findings.refusals.operator_shapes import SHAPES
from gradscope.explain.findings.refusals.other_values import VALUES
from gradscope.explain.findings.refusals.out_of_range import BOUNDS

TABLES = (*LAYERS, *TARGETS, *USES, *ARGUMENTS, *BOUNDS, *VALUES, *SHAPES)


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


class OfAnInstance(torch.autograd.Function):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class SavesANumber(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.save_for_backward(x, factor)
        return x * factor


def legacy() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        OfAnInstance()(scores)


def itself() -> None:
    parent, child = nn.Sequential(), nn.Sequential()
    parent.child, child.parent = child, parent
    parent.train()


def sgd(dtype: torch.dtype = torch.float32) -> torch.optim.Optimizer:
    return torch.optim.SGD([nn.Parameter(torch.zeros(2, dtype=dtype))], lr=0.1)


def unscaled(optimizer: torch.optim.Optimizer, times: int) -> None:
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(optimizer.param_groups[0]["params"][0].float().sum()).backward()
    for _ in range(times):
        scaler.unscale_(optimizer)


def twice_unscaled() -> None:
    unscaled(sgd(), times=2)


def halves_unscaled() -> None:
    unscaled(sgd(torch.float16), times=1)


def without_gradients() -> None:
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(shared.sum())
    scaler.step(sgd())


def updated_without_a_step() -> None:
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(shared.sum())
    scaler.update()


def one_for_two() -> None:
    _, (_, _) = nn.GRU(3, 2)(scores)


def step_of_rows(made: Callable[[list[nn.Parameter]], torch.optim.Optimizer], sparse: bool = True) -> None:
    table = nn.Embedding(3, 2, sparse=sparse)
    table(torch.tensor([1])).sum().backward()
    made(list(table.parameters())).step()


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
    (lambda: nn.ModuleList([nn.Linear(3, 1)])(scores), "a ModuleList only holds modules"),
    (lambda: nn.Sequential([nn.Linear(3, 1)]), "what is to be a layer is a list"),
    (lambda: nn.init.xavier_uniform_(torch.zeros(3)), "has one dimension, and so no fan in"),
    (lambda: nn.Linear(4, 3 / 2), "a size is a float"),
    (lambda: nn.MultiheadAttention(30, 4), "no multiple of the heads"),
    (nn.Linear(3, 1), "other arguments than it takes: missing 1 required"),
    (lambda: nn.Linear(3, 1)(scores, scores), "other arguments than it takes: takes 2"),
    (lambda: nn.DataParallel(nn.Linear(3, 1)).in_features, "in_features belongs to the module inside"),
    (lambda: nn.Linear(3, 1).wieght, "a Linear has no wieght"),
    (itself, "has itself for a part"),
    (lambda: torch.optim.LBFGS([shared]).step(), "given nothing to compute it with"),
    (lambda: torch.optim.lr_scheduler.ReduceLROnPlateau(sgd()).step(), "is given none"),
    (lambda: torch.optim.lr_scheduler.StepLR(sgd(), 2, last_epoch=5), "where the optimizer has never had one"),
    (lambda: nn.Linear(3, 1).load_state_dict(nn.Linear(3, 1)), "what is loaded is a Linear as a whole"),
    (legacy, "no static methods"),
    (lambda: SavesANumber.apply(shared, 2.0), "a float is saved as if it were a tensor"),
    (lambda: DataLoader([1], shuffle=True, sampler=[0]), "the loader is given a sampler and"),
    (lambda: torch.amp.GradScaler("cpu").step(sgd()), "derived without its scale"),
    (without_gradients, "no parameter of this optimizer has a gradient"),
    (updated_without_a_step, "where no step() of the scaler has come"),
    (lambda: step_of_rows(lambda rows: torch.optim.SGD(rows, lr=0.1, weight_decay=0.1)), "adds all of a table to"),
    (lambda: step_of_rows(lambda rows: torch.optim.Adagrad(rows, weight_decay=0.1)), "adds all of a table to"),
    (lambda: step_of_rows(torch.optim.RMSprop), "RMSprop is given gradients that are sparse"),
    (lambda: step_of_rows(torch.optim.SparseAdam, sparse=False), "SparseAdam is given gradients that are dense"),
    (twice_unscaled, "divided by the scale twice"),
    (halves_unscaled, "the parameters are float16"),
    (lambda: F.cross_entropy({"scores": scores}, long), "what comes in is a dict"),
    (lambda: F.dropout("last_hidden_state"), "what comes in is a text"),
    (lambda: long.add_(0.5), "Float is to be written into Long"),
    (lambda: torch.from_numpy(np.zeros((2, 3), np.float32)[:, ::-1]), "only reads an array backwards"),
    (lambda: torch.tensor(np.array([[1.0, None]], dtype=object)), "numpy's array holds object_"),
    (lambda: pack_padded_sequence(scores[..., None], [1, 3, 2, 2], batch_first=True), "not sorted by their lengths"),
    (lambda: nn.LSTM(3, 2)(scores).view(4, -1), "this is a tuple"),
    (lambda: [scores].to("cpu"), "this is a list"),
    (lambda: {"logits": scores}.softmax(1), "this is a dict"),
    (lambda: scores.numpy().unsqueeze(0), "this is numpy's array"),
    (lambda: dict(nn.Linear(3, 1).state_dict()).eval(), "a state_dict(), and no module"),
    (lambda: nn.Linear(3, 1).load_state_dict(nn.Linear(3, 1).state_dict()).eval(), "returns what did not fit"),
    (lambda: scores.sum().item().backward(), "a number, without a graph"),
    (lambda: sum([]).backward(), "no term of this loss was computed"),
    (lambda: {}.get("loss").backward(), "what is to be derived is None"),
    (one_for_two, "the state of a GRU or RNN is one tensor"),
    (lambda: scores.add_(torch.zeros(2, 4, 3)), "the result is [2, 4, 3], and is to be written into [4, 3]"),
    (lambda: scores + torch.zeros(4, 2), "sizes 3 and 2 meet in dimension 1"),
    (lambda: torch.cat([scores, scores.t()]), "joined in dimension 0, and have 3 and 4"),
    (lambda: torch.cat([scores, scores[None]]), "tensors of 2 and of 3 dimensions are joined"),
    (lambda: scores[torch.ones(3, dtype=torch.bool)], "a mask of [3] chooses from [4, 3]"),
    (lambda: scores[:, 3], "index 3 is asked for in a dimension of 3"),
    (lambda: scores.index_select(0, long + 4), "not below the size of the dimension"),
    (lambda: scores[:, 0, 0], "more indices than the 2 dimensions"),
    (lambda: scores[0].softmax(1), "dimension 1 is named of what has dimensions -1 to 0"),
    (lambda: scores.sum()[0], "this is one value"),
    (lambda: list(scores.sum()), "this is one value"),
    (lambda: scores.permute(0, 2, 1), "3 dimensions are put in another order, and 2 come in"),
    (lambda: torch.bmm(scores, scores), "bmm() multiplies batches"),
    (lambda: torch.bmm(scores[None], scores[None]), "rows of 3 are multiplied by columns of 4"),
    (lambda: torch.einsum("ij,kj->ik", scores, scores.t()), "j stands for a dimension of 4 and for one of 3"),
    (lambda: scores.repeat(2), "fewer numbers than there are dimensions"),
    (lambda: F.pad(scores[None, None], (3, 3, 0, 0), mode="reflect"), "a padding of (3, 3) reflects more"),
    (lambda: F.interpolate(scores[None, None], size=(8,)), "what has [4, 3] is resized to (8"),
    (scores.item, "one number is asked for of a tensor of several"),
    (lambda: torch.tensor([scores[0], scores[1]]), "one number is asked for of a tensor of several"),
    (lambda: torch.stack([scores, scores.t()]), "tensors of [4, 3] and of [3, 4] are stacked"),
]


def tellings(run: Callable[[], object]) -> dict[str, str]:
    """What the rows say that fit what torch says, of those whose functions raised it: with its numbers, by the row."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 the words are what is asked for
        run()
    inner = {one.name for one in raised.traceback[-2:]}
    found = [
        (one, one.words.search(str(raised.value))) for one in TABLES if not one.functions or inner & {*one.functions}
    ]
    assert any(words for _, words in found), f"no row has these words: {raised.value}"
    return {one.told: one.told.format(*(group or "" for group in words.groups())) for one, words in found if words}


@pytest.mark.parametrize(("run", "told"), REFUSED, ids=[told for _, told in REFUSED])
def test_what_torch_says_is_known(run: Callable[[], object], told: str) -> None:
    assert any(told in one for one in tellings(run).values())


def test_each_row_is_tried() -> None:
    assert {row for run, _ in REFUSED for row in tellings(run)} == {one.told for one in TABLES}
