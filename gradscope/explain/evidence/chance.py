"""What draws random numbers among the recorded operators, and what asks a distribution for a density."""

from __future__ import annotations

from gradscope.explain.evidence.dataflow import RecordedDataflow
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Stack

_SHARES = ("rand", "rand_like", "uniform", "bernoulli")
_NORMAL = ("randn", "randn_like", "normal")
_DRAWS = frozenset(
    (
        *_NORMAL,
        *_SHARES,
        "native_dropout",
        "_fused_dropout",
        "randint",
        "randperm",
        "exponential",
        "multinomial",
        "poisson",
        "rrelu_with_noise",
    )
)
_DISTRIBUTIONS, _DENSITY, _SAMPLES = "torch/distributions/", "log_prob", ("sample", "rsample")


def draws(operation: Operation) -> bool:
    """Whether an operator draws random numbers, into a new tensor or in place."""
    return base_name(operation.name).rstrip("_") in _DRAWS


def draws_noise(operation: Operation) -> bool:
    """Whether what it draws is normally distributed."""
    return base_name(operation.name).rstrip("_") in _NORMAL


def keeps_by_chance(flow: RecordedDataflow, at: int) -> bool:
    """Whether an operator compares, or takes, numbers that were drawn right before it, as a dropout by hand does."""
    made = (flow.maker(one.tensor, at) for one in flow.operations[at].reads)
    drawn = (flow.operations[one].operation for one in made if one is not None)
    return any(base_name(one.name).rstrip("_") in _SHARES for one in drawn)


def is_density(stack: Stack) -> bool:
    """Whether something happened in the log_prob() of one of torch's distributions."""
    return _is_in_distribution(stack, (_DENSITY,))


def is_sample(stack: Stack) -> bool:
    """Whether something happened in the sample() or rsample() of one."""
    return _is_in_distribution(stack, _SAMPLES)


def _is_in_distribution(stack: Stack, functions: tuple[str, ...]) -> bool:
    return any(one.function in functions and _DISTRIBUTIONS in one.file.replace("\\", "/") for one in stack)
