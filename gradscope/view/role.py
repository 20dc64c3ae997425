"""What a part of a picture stands for. Formats turn roles into colours and shapes, each in its own way."""

from __future__ import annotations

import enum


class Role(enum.Enum):
    """The value is the sentence in a legend."""

    ROOT = "where the backward starts"
    PLAIN = "a backward function"
    VIEW = "only changes the shape"
    CUSTOM = "a custom autograd.Function"
    ACCUMULATE = "adds into a parameter's .grad"
    SAVED = "keeps tensors for the backward"
    HOOKED = "has hooks"
    IDLE = "did not run"
    GROUP = "a module call, closed"
    FOLDED = "more of the same, folded"
    LEVEL = "under a torch.func transform"
    FOCUS = "asked for by name"
    FINDING = "a finding points here"
    PRUNED = "no gradient goes here"
    ADDITION = "adds gradients of a value that is used more than once"
    # in a joint graph
    INPUT = "comes from outside"
    OPERATOR = "an operator"
    KEPT = "is saved for the backward"
    AGAIN = "is computed again in the backward"
    # parts of a line of text
    MODULE = "a module call's name"
    CLASS = "a module's class"
    PLACE = "a place in backward order"
    COUNT = "how many"
    TYPE = "a tensor's type"
    SITE = "a line of code"
    NOTE = "a remark"
