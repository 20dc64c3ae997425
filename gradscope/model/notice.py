"""Something that a probe saw and that says what it means by itself."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Located, Stack

FORGETS_CHANCE = "checkpoint-forgets-chance"  # of a checkpoint that draws other random numbers when it runs again
OVER_ONE = "softmax-over-one"  # of a line whose softmax ran over one element each time
OVER_ROWS = "softmax-over-rows"  # over the first dimension of a matrix
OVER_BATCHED = "softmax-over-batched"  # over a dimension before the last two, which products of matrices batch
OVER_MIDDLE = "softmax-over-middle"  # over the last dimension but one of three or more
MEAN_OF_ZEROS = "mean-of-zeros"  # of a line that takes the mean of what has now more zeros, now fewer
ONE_AHEAD = "labels-one-ahead"  # of a loss whose labels are the tokens that were read, one place further on
TWO_AHEAD = "labels-two-ahead"  # of a loss whose labels are the tokens that were read, two places further on
TARGETS_OUTSIDE = "targets-outside"  # of a loss of two classes whose targets are below 0, or above 1
FROZEN_IN_NAME = "frozen-in-name"  # of a module whose attribute says that it is frozen, and whose parameters are not
THAWED_IN_NAME = "thawed-in-name"  # of one whose attribute says that it is trained, and whose parameters are all frozen
FORGETS_BATCHES = "forgets-batches"  # of a batch normalisation whose averages are nearly the last batch's
FROZEN_MOVES = "frozen-moves"  # of a batch normalisation whose weights are frozen and whose averages are not
FROZEN_MOVES_AT_REST = "frozen-moves-at-rest"  # of one that does so without gradients
UNHELD = (
    "leaves-not-held"  # where one was read that nothing holds, and that several backward calls reached, and no other
)
UNHELD_BESIDE = "leaf-not-held"  # where one was read by other runs
FORGETFUL = 0.9  # a momentum from which on they are; 1 is set on purpose

FORWARD_HOOKS_PILE_UP = "forward-hooks-pile-up"  # of a line that hangs more and more of them on a module


@dataclass(frozen=True, slots=True)
class Notice(Located):
    """`what` is the name of the thing seen, `stack` where; each is recorded once for a stack."""

    what: str
    stack: Stack
