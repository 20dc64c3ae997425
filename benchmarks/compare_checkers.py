"""Which of the faulty Functions of the test corpus do gradcheck, gradgradcheck, an opcheck-like run and gradscope find?

Prints a Markdown table. "opcheck-like": the Function compiled with backend aot_eager, exported and traced by make_fx,
with values and gradients compared with eager, which is what torch.library.opcheck does for custom operators.
"""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Callable
from typing import Any

import torch

from gradscope.functions.check import Settings, check
from gradscope.functions.inputs.build import samples_from_data
from gradscope.model.report import TrialResult
from tests.functions.test_corpus import CASES, expected_of, lacks, level_of

OPCHECK_LIKE = ("compile", "export", "make_fx")


def notices(check_it: Callable[..., Any], function: Any) -> bool:
    """Whether a check of torch's raises, in a child process of its own."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return status != 0
    torch.set_num_threads(1)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            (sample, *_) = samples_from_data(function.gradscope_inputs, "inputs")
            check_it(function.apply, sample.fresh(torch.float64))
        except BaseException:
            os._exit(1)
    os._exit(0)


def fails(result: TrialResult) -> bool:
    """Whether a compile trial fails; that Dynamo takes no jvp at all is a limit that right Functions share."""
    return result.status.failed and "custom jvp" not in result.detail


def main() -> None:
    """Count and print."""
    print("| Function | fault | gradcheck | + gradgradcheck | opcheck-like | gradscope |\n|---|---|---|---|---|---|")
    totals = [0, 0, 0, 0]
    faulty = [(name, f) for name, f in CASES if expected_of(f) and name != "realistic" and not lacks(f)]
    for name, function in faulty:
        expected = {code for code, _ in expected_of(function)}
        first = notices(torch.autograd.gradcheck, function)
        second = first or notices(torch.autograd.gradgradcheck, function)
        custom = [(function.__name__, function)]
        trials = check(custom, Settings(level="compile")).subjects[0].trials
        codes = {f.code for f in check(custom, Settings(level=level_of(name, function))).findings}
        found = (
            first,
            second,
            any(fails(trials[t]) for t in OPCHECK_LIKE),
            expected <= codes,
        )
        totals = [total + hit for total, hit in zip(totals, found, strict=True)]
        cells = [f"{name}.{function.__name__}", " ".join(sorted(expected)), *("found" if hit else "" for hit in found)]
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"| {len(faulty)} faulty Functions | | {' | '.join(map(str, totals))} |")


if __name__ == "__main__":
    main()
