"""Takes down at a few operators what no line tells: over what a softmax runs, whether a mean has zeros, how far labels
lie ahead of tokens, and what a batch normalisation keeps of a batch.

Most are asked for the first times that a line runs only; all are written when the recording ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.model.notice import (
    FORGETFUL,
    FORGETS_BATCHES,
    FROZEN_MOVES,
    FROZEN_MOVES_AT_REST,
    MEAN_OF_ZEROS,
    ONE_AHEAD,
    OVER_BATCHED,
    OVER_MIDDLE,
    OVER_ONE,
    OVER_ROWS,
    TARGETS_OUTSIDE,
    TWO_AHEAD,
)
from gradscope.probes.core.context import Context
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled

Sign = Callable[[Any, tuple[Any, ...], Any], None]
_SOFTMAX = ("aten._softmax.default", "aten._log_softmax.default", "aten._safe_softmax.default")
_MEAN = ("aten.mean.default", "aten.mean.dim")
_EMBEDDING = ("aten.embedding.default",)
_TWO_CLASSES = ("aten.binary_cross_entropy_with_logits.default",)
_LABELS = ("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default")
NORMALISES = (
    "aten.native_batch_norm.default",
    "aten._native_batch_norm_legit.default",
    "aten.cudnn_batch_norm.default",
)
_FEWEST, _ROWS, _READS, _LOSSES = 8, 4, 4, 8  # places in a row; rows kept; of reads; for losses
_FARTHEST = 3  # places that labels may lie ahead
_NORMS, _THAWED = 512, -1
_UNREDUCED = 0  # torch's number for reduction="none"
_ASKED, _NEARLY = 4, 1e-3  # losses of a line whose targets are looked at; what rounding may add to one
_MEANS = 6  # of a line, whose zeros are counted


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Tokens that were read: how many rows of how many places, and a copy of the first rows."""

    rows: int
    places: int
    first: torch.Tensor

    def ahead(self, label: torch.Tensor, ignored: int) -> int | None:
        """By how many places labels lie ahead of them; None where they are other numbers, or it cannot be told."""
        length, rest = divmod(label.numel(), self.rows)
        if rest or length < _FEWEST - _FARTHEST:
            return None
        label = label.reshape(self.rows, length)[: len(self.first)]
        fits = [ahead for ahead in range(_FARTHEST) if self._fits(label, ahead, ignored)]
        return fits[0] if len(fits) == 1 else None

    def _fits(self, label: torch.Tensor, ahead: int, ignored: int) -> bool:
        count = min(label.shape[1], self.places - ahead)
        counts = label[:, :count] != ignored
        same = (label[:, :count] == self.first[:, ahead : ahead + count]) | ~counts
        return bool(same.all()) and int(counts.sum()) >= _FEWEST


class OperatorSigns:
    """What has been seen so far, by the stack of the line."""

    def __init__(self, context: Context) -> None:
        self._sink, self._stacks, self._threads = context.sink, context.stacks, context.threads
        self._softmaxes: dict[tuple[str, int], bool] = {}  # whether it was so each time
        self._tokens: list[_Tokens] = []
        self._losses = 0
        self._ahead: dict[int, int] = {}  # of a loss: its labels are the tokens, so many places on
        self._signs: tuple[tuple[Sign, tuple[str, ...]], ...] = (
            (self._softmax, _SOFTMAX),
            (self._mean, _MEAN),
            (self._embedding, _EMBEDDING),
            (self._labels, _LABELS),
            (self._targets, _TWO_CLASSES),
            (self._norm, NORMALISES),
        )
        self._asked: dict[int, int] = {}  # how many losses of a line were asked for their targets
        self._outside: dict[int, None] = {}
        self._forgets: dict[int, None] = {}
        # By the identity of its weight: where one that is frozen normalises, with gradients and without.
        self._frozen: dict[bool, dict[int, int]] = {True: {}, False: {}}
        self._zeros: dict[int, list[float]] = {}  # what share of what a mean was taken of was zero

    def of(self, operator: str) -> Sign | None:
        """What to ask where an operator runs with gradients on; of a norm, without them as well."""
        return next((sign for sign, operators in self._signs if operator in operators), None)

    def write(self) -> None:
        """The recording ends."""
        self._sink.add_all("notice", (notice for notice, always in self._softmaxes.copy().items() if always))
        masked = (stack for stack, shares in self._zeros.copy().items() if len(set(shares)) > 1)
        self._sink.add_all("notice", ((MEAN_OF_ZEROS, stack) for stack in masked))
        ahead = self._ahead.copy()
        self._sink.add_all("notice", ((ONE_AHEAD, stack) for stack, places in ahead.items() if places == 1))
        if 1 not in ahead.values():  # else there are heads that look further
            self._sink.add_all("notice", ((TWO_AHEAD, stack) for stack, places in ahead.items() if places == 2))
        self._tokens.clear()
        self._sink.add_all("notice", ((TARGETS_OUTSIDE, stack) for stack in self._outside.copy()))
        self._sink.add_all("notice", ((FORGETS_BATCHES, stack) for stack in self._forgets.copy()))
        for what, grad in ((FROZEN_MOVES, True), (FROZEN_MOVES_AT_REST, False)):
            frozen = sorted(set(self._frozen[grad].copy().values()) - {_THAWED})
            self._sink.add_all("notice", ((what, stack) for stack in frozen))

    def _norm(self, result: Any, arguments: tuple[Any, ...], frame: Any) -> None:
        """Note whether running averages are nearly those of the last batch, and whether they move under frozen weights:
        those that are thawed again, as a GAN does each step, have only their turn.
        """
        weight, mean, by_batch, momentum = arguments[1], arguments[3], *arguments[5:7]
        grad = torch.is_grad_enabled()
        if by_batch is True and mean is not None and type(weight) is torch.nn.Parameter:  # no detached one
            for known in self._frozen.values() if weight.requires_grad else ():
                if id(weight) in known:
                    known[id(weight)] = _THAWED
            if not weight.requires_grad and len(self._frozen[grad]) < _NORMS:
                self._frozen[grad].setdefault(id(weight), self._stack(frame))
        if grad and by_batch is True and mean is not None and FORGETFUL <= momentum < 1:
            self._forgets[self._stack(frame)] = None

    def _softmax(self, result: Any, arguments: tuple[Any, ...], frame: Any) -> None:
        """Note whether it runs over one element, the rows of a matrix, what products batch, or the last but one."""
        dimension = arguments[1] if len(arguments) > 1 else None
        if type(result) is torch.Tensor and result.dim() and type(dimension) is int:
            stack, place = self._stack(frame), dimension % result.dim()
            several = min(result.shape) > 1
            for what, is_so in (
                (OVER_ONE, result.shape[dimension] == 1),
                (OVER_ROWS, several and result.dim() == 2 and place == 0),
                (OVER_BATCHED, result.dim() > 2 and min(result.shape[:-1]) > 1 and place < result.dim() - 2),
                (OVER_MIDDLE, several and result.dim() > 2 and place == result.dim() - 2),
            ):
                self._softmaxes[what, stack] = self._softmaxes.get((what, stack), True) and is_so

    def _mean(self, result: Any, arguments: tuple[Any, ...], frame: Any) -> None:
        """Count the zeros in what a mean is taken of: a mask leaves another number of them in each batch."""
        value = arguments[0]
        if not is_plain(value) or not value.requires_grad or value.numel() < 2:
            return
        zeros = self._zeros.setdefault(self._stack(frame), [])
        if len(zeros) < _MEANS:
            with unprofiled(), no_function(), no_dispatch(), no_autograd():
                zeros.append(1 - int(torch.count_nonzero(value)) / value.numel())

    def _embedding(self, result: Any, arguments: tuple[Any, ...], frame: Any) -> None:
        """Copy some of the tokens that are read, where they come as rows."""
        tokens = arguments[1]
        if is_plain(tokens) and tokens.dim() == 2 and tokens.shape[1] >= _FEWEST and len(self._tokens) < _READS:
            with unprofiled(), no_function(), no_dispatch(), no_autograd():
                rows, places = tokens.shape
                self._tokens.append(_Tokens(rows, places, tokens[:_ROWS].clone()))

    def _targets(self, result: Any, arguments: tuple[Any, ...], frame: Any) -> None:
        """Note whether targets that are to be 0, 1 or between are not."""
        target, weight, _, reduction = (*arguments[1:5], None, None, None)[:4]
        stack = self._stack(frame)
        asked = self._asked.get(stack, 0)
        is_masked = weight is not None or reduction == _UNREDUCED  # what is to be ignored may have any target
        if asked < _ASKED and not is_masked and is_plain(target) and target.numel():
            self._asked[stack] = asked + 1
            with unprofiled(), no_function(), no_dispatch(), no_autograd():
                least, most = torch.aminmax(target)
                if float(least) < -_NEARLY or float(most) > 1 + _NEARLY:
                    self._outside[stack] = None

    def _labels(self, result: Any, arguments: tuple[Any, ...], frame: Any) -> None:
        """Compare labels with the tokens of the same step, and forget these."""
        label, ignored = arguments[1], arguments[4]
        if self._tokens and is_plain(label):
            with unprofiled(), no_function(), no_dispatch(), no_autograd():
                ahead = [tokens.ahead(label.reshape(-1), ignored) for tokens in self._tokens]
            found = [one for one in ahead if one is not None]
            if found:
                self._ahead.setdefault(self._stack(frame), min(found))
            self._losses += 1
            if self._losses >= _LOSSES:
                self._tokens.clear()

    def _stack(self, frame: Any) -> int:
        return self._stacks.take(frame, self._threads.current.base)
