"""GS740: a matrix that cannot be factorised or inverted, told by the line that made it."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import RecordedDataflow, dataflow
from gradscope.explain.evidence.forms import COPIES, WIDENED
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_KIND = "LinAlgError"
_REASONS = {"positive-definite": "is not positive-definite", "singular": "is singular"}  # words of torch's messages
_FACTORISES = ("linalg_", "cholesky", "inverse")  # how their names begin
_SAME_MATRIX = (*WIDENED, *COPIES)


def not_factorised(case: Case) -> Iterator[Cause]:
    """What it flags: a matrix that is not positive-definite, or singular, where it is factorised or inverted.

    Why: a covariance whose noise is learned, or is computed from few or equal samples, has eigenvalues near 0, and
    rounding makes them negative; a symmetric matrix of free parameters may become indefinite with any step. The
    factorisation worked as long as it did by chance.

    Wrong:
        covariance = kernel(x, x) + log_noise.exp() * torch.eye(n)
        factor = torch.linalg.cholesky(covariance)

    Right:
        covariance = kernel(x, x) + (log_noise.exp() + 1e-4) * torch.eye(n)
        factor = torch.linalg.cholesky(covariance)

    Do instead: add a constant to the diagonal, bound from below what is learned there, or learn a factor L and use
    L @ L.T; in float64 less is needed.

    How it is found: torch's refusal, and the operator that made the matrix which this line was given in the steps that
    were followed.
    """
    for failure in case.failures():
        reason = next((words for told, words in _REASONS.items() if told in failure.message), None)
        if failure.kind.rpartition(".")[2].lstrip("_") != _KIND or reason is None:
            continue
        made = _made_at(case, failure)
        related = (Related("fails_at", failure.site, "the factorisation"),) if made not in (None, failure.site) else ()
        passed = len(case.backwards())
        message = f"the matrix {'that is made' if related else 'of'} {'here' if related else 'this line'} {reason}"
        message += f" after {passed} backward calls" if passed else ""
        yield Cause(message, made or failure.site, related, fails=True, certain=False)


def _made_at(case: Case, failure: Failure) -> Site | None:
    """The line that put together what the failing line factorises."""
    flow = dataflow(case)
    for at in range(len(flow.operations) - 1, -1, -1):
        operation = flow.operations[at]
        if operation.site == failure.site and base_name(operation.operation.name) in (
            *_FACTORISES,
            "linalg_cholesky_ex",
        ):
            return _maker(flow, operation.reads[0].tensor, at) if operation.reads else None
    return None


def _maker(flow: RecordedDataflow, tensor: int, before: int) -> Site | None:
    at = flow.maker(tensor, before)
    while at is not None:
        operation = flow.operations[at]
        if base_name(operation.operation.name) not in _SAME_MATRIX or not operation.reads:
            return operation.site
        at = flow.maker(operation.reads[0].tensor, at)
    return None
