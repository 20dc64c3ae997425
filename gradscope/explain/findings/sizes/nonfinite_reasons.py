"""Says in words why an operator gave a NaN or an Inf, from the values that it was given."""

from __future__ import annotations

import math
from collections.abc import Callable

from gradscope.model.birth import Birth, Given

Words = Callable[[Birth], str | None]
SOFTMAX = ("softmax", "log_softmax", "logsumexp")


def reason(birth: Birth) -> str:
    """For instance "log(0) is -inf, first at index [0, 3], and at 5 others"."""
    if birth.device is not None:
        return f"{birth.base} gave {'NaN' if birth.nan else 'Inf'} on {birth.device}, where single values are not read"
    words = REASONS.get(birth.base.removeprefix("_").removeprefix("safe_").removeprefix("linalg_"))
    told = words(birth) if words else None
    return (told or _plain(birth)) + _where(birth)


def number(value: float | None) -> str:
    """A value in few digits."""
    return "?" if value is None else f"{value:.4g}"


def _where(birth: Birth) -> str:
    others = birth.nan + birth.inf - 1
    place = f", first at index {list(birth.index)} of {list(birth.shape)}" if birth.index else ""
    return place + (f", and at {others} other{'s' if others > 1 else ''}" if others > 0 else "")


def _plain(birth: Birth) -> str:
    given = ", ".join(f"{one.name} = {_described(one)}" for one in birth.given if _described(one))
    return f"{birth.base} gave {number(birth.value)}" + (f" for {given}" if given else "")


def _described(given: Given) -> str:
    if given.value is not None:
        return number(given.value)
    if given.least is not None:
        return f"values from {number(given.least)} to {number(given.most)}"
    return ""


def _of_self(text: str) -> Words:
    def words(birth: Birth) -> str | None:
        given = birth.argument_named("self")
        if given is None or given.value is None:
            return None
        return f"{text.format(number(given.value))} is {number(birth.value)}"

    return words


def _division(birth: Birth) -> str | None:
    top, bottom = birth.argument_named("self"), birth.argument_named("other")
    if top is None or bottom is None or bottom.value is None:
        return None
    return f"{number(top.value)} / {number(bottom.value)} is {number(birth.value)}"


def _product(birth: Birth) -> str | None:
    left, right = birth.argument_named("self"), birth.argument_named("other")
    if left is None or right is None or left.value is None or right.value is None:
        return None
    return f"{number(left.value)} * {number(right.value)} is {number(birth.value)}"


def _power(birth: Birth) -> str | None:
    base, exponent = birth.argument_named("self"), birth.argument_named("exponent")
    if base is None or exponent is None or base.value is None:
        return None
    return f"{number(base.value)} ** {number(exponent.value)} is {number(birth.value)}"


def _exponential(birth: Birth) -> str | None:
    given = birth.argument_named("self")
    if given is None or given.value is None:
        return None
    return f"exp({number(given.value)}) is too large for {given.dtype}"


def _mean(birth: Birth) -> str | None:
    given = birth.argument_named("self")
    if given is None or given.shape is None or 0 not in given.shape:
        return None
    return f"the mean of a tensor without elements (shape {list(given.shape)}) is nan"


def _spread(birth: Birth) -> str | None:
    given = birth.argument_named("self")
    if given is None or given.shape is None:
        return None
    return f"the {birth.base} over a single value (shape {list(given.shape)}) is nan: it divides by the count less one"


def _softmax(birth: Birth) -> str | None:
    given = birth.argument_named("self")
    if given is None or given.row != (-math.inf, -math.inf):
        return None
    return "a softmax over a row in which every value is -inf, because all of it is masked, is nan"


def _labels(birth: Birth) -> str | None:
    target, ignored = birth.argument_named("target"), birth.argument_named("ignore_index")
    if target is None or target.least is None or target.least != target.most:
        return None
    if ignored is None or ignored.value != target.least:
        return None
    count = math.prod(target.shape) if target.shape else 1
    return f"each of the {count} labels is the ignored {number(target.least)}, so the mean is over none of them"


def _transcripts(birth: Birth) -> str | None:
    if birth.nan or not birth.inf:
        return None
    return "a transcript with more symbols, and a blank between equal ones, than there are frames has an infinite loss"


REASONS: dict[str, Words] = {
    "log": _of_self("log({})"),
    "log2": _of_self("log2({})"),
    "log10": _of_self("log10({})"),
    "log1p": _of_self("log1p({})"),
    "sqrt": _of_self("sqrt({})"),
    "rsqrt": _of_self("1 / sqrt({})"),
    "reciprocal": _of_self("1 / {}"),
    "acos": _of_self("acos({})"),
    "asin": _of_self("asin({})"),
    "acosh": _of_self("acosh({})"),
    "atanh": _of_self("atanh({})"),
    "tan": _of_self("tan({})"),
    "lgamma": _of_self("lgamma({})"),
    "div": _division,
    "mul": _product,
    "pow": _power,
    "exp": _exponential,
    "expm1": _exponential,
    "mean": _mean,
    "std": _spread,
    "var": _spread,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "logsumexp": _softmax,
    "nll_loss_forward": _labels,
    "nll_loss2d_forward": _labels,
    "ctc_loss": _transcripts,
    "cudnn_ctc_loss": _transcripts,
}
