"""GS837 and GS838: shapes that do not fit where a run ended, and fitted before: a dimension that squeeze() takes from a
batch of one alone, and an odd size that was halved and doubled again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.failed_forward import operations_before
from gradscope.model.failure import Failure
from gradscope.model.finding import Related
from gradscope.model.operation import Operation, base_name

NEAR = 8  # operators between the one that is named and the failure, at most
_SQUEEZE = "aten.squeeze.default"  # without dimensions
_SIZE = re.compile(r"torch\.Size\(\[([\d, ]*)\]\)")
_TOO_FEW = re.compile(
    r"zero-dimensional tensor .*cannot be concatenated|iteration over a 0-d tensor|len\(\) of a 0-d tensor"
    r"|too many indices for tensor of dimension 0|invalid index of a 0-dim tensor|cannot be applied to a 0-dim tensor"
    r"|Dimension out of range \(expected to be in range of \[-1, 0\], but got (?:1|-2)\)"
    r"|got input: \[\d+\], target: \[1\]|Expected input batch_size \(\d+\) to match target batch_size \(1\)"
    r"|expected 2D or 3D input \(got 1D input\)|expected 4D input \(got 3D input\)"
)
_UNLIKE = (
    re.compile(r"Sizes of tensors must match except in dimension \d+\. Expected size (\d+) but got size (\d+)"),
    re.compile(r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension"),
)


def squeezed_batch(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended for want of a dimension behind a squeeze() without dim, which went well before.

    Why: squeeze() takes every dimension of size 1, that of the batch as well when the last batch holds one sample. What
    is (8,) for eight samples is () for one, and (8, 5) is (5,).

    Wrong:
        loss = criterion(model(x).squeeze(), y)     # x: (8, 3), the last x: (1, 3)

    Right:
        loss = criterion(model(x).squeeze(-1), y)

    Do instead: name the dimension, or leave the last batch out with DataLoader(drop_last=True).

    How it is found: torch refuses a tensor without dimensions, or one that lacks the batch's. The line is that of a
    squeeze() without dim just before, called by the function that failed, if it ran once before, where nothing failed.
    """
    for failure in case.failures():
        operation = _last(case, failure, _squeezes) if _lacks_dimension(failure.message) else None
        if operation is None or not _called_together(operation, failure) or not _ran_before(case, operation):
            continue
        yield Cause(
            "squeeze() takes the batch's dimension too where a batch holds one sample",
            operation.site,
            (Related("fails_at", failure.site),) if failure.site != operation.site else (),
            fails=True,
            certain=False,
            op=operation.name,
        )


def odd_size_doubled(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended where two sizes differ by one, behind an operator that doubles what was halved.

    Why: half of 25 is 12, and twice 12 is 24. A U-Net that halves sizes and joins what it doubles with what it kept
    runs for sizes that are multiples of a power of two alone.

    Wrong:
        x = F.interpolate(x, scale_factor=2)
        x = torch.cat([skip, x], dim=1)             # 25 and 24

    Right:
        x = F.interpolate(x, size=skip.shape[-2:])
        x = torch.cat([skip, x], dim=1)

    Do instead: resize to the size of what it is joined with (a transposed convolution takes output_size), or pad the
    input to a multiple of 2 ** depth.

    How it is found: the sizes that torch names. The line is the one that made an image larger just before,
    called by the function that joins them.
    """
    for failure in case.failures():
        sizes = _differ_by_one(failure.message)
        operation = _last(case, failure, _enlarges) if sizes is not None else None
        if sizes is None or operation is None or not _called_together(operation, failure):
            continue
        yield Cause(
            f"this makes {min(sizes)} of a size that was {max(sizes)} before it was halved",
            operation.site,
            (Related("fails_at", failure.site),) if failure.site != operation.site else (),
            fails=True,
            certain=False,
            op=operation.name,
        )


def _squeezes(operation: Operation) -> bool:
    """Whether it takes all dimensions of size 1."""
    return operation.name == _SQUEEZE


def _enlarges(operation: Operation) -> bool:
    """Whether it makes an image larger: an interpolation, or a transposed convolution."""
    name, module = base_name(operation.name), operation.module
    transposed = module is not None and module.module_class.rpartition(".")[2].startswith("ConvTranspose")
    return name.startswith("upsample_") or (transposed and name == "convolution")


def _last(case: Case, failure: Failure, wanted: Callable[[Operation], bool]) -> Operation | None:
    """The last of those operators in the forward that failed, if it ran just before."""
    found = [one for one in operations_before(case, failure, NEAR) if wanted(one) and one.site is not None]
    return found[-1] if found else None


def _called_together(operation: Operation, failure: Failure) -> bool:
    """Whether the function that failed called it, itself or through others."""
    site = failure.site
    return site is not None and (site.file, site.function) in {(one.file, one.function) for one in operation.stack}


def _ran_before(case: Case, operation: Operation) -> bool:
    """Whether the line ran such an operator more than once."""
    calls = (one for block in case.blocks() for one in block.operations if one.name == operation.name)
    return sum(one.site == operation.site for one in calls) > 1


def _lacks_dimension(message: str) -> bool:
    """Whether what torch refuses lacks dimensions of size 1."""
    sizes = {size.replace(" ", "") for size in _SIZE.findall(message)}
    return sizes == {"", "1"} or _TOO_FEW.search(message) is not None


def _differ_by_one(message: str) -> tuple[int, int] | None:
    for words in _UNLIKE:
        found = words.search(message)
        if found is not None:
            one, other = map(int, found.groups())
            return (one, other) if abs(one - other) == 1 and max(one, other) % 2 else None
    return None
