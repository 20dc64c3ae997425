"""Runs every fault of the corpus under torch's anomaly mode, and counts where it prints the line that caused it.

    python benchmarks/compare_anomaly.py

A script is forked from this process, which has imported torch already. The cause is named when what it prints to
standard error has a marked line of it, by file and number; the program's own traceback counts, too.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gradscope.explain.findings.table import QUESTIONS
from tests.explain.corpus import Fault, faults

SECONDS = 60
NAMES = {kind.code: kind.name for kind in QUESTIONS}


def run(fault: Fault) -> tuple[int, str]:
    """Exit status and standard error of a script under anomaly mode."""
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os._exit(_in_child(fault, errors.fileno()))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        errors.seek(0)
        return status, errors.read().decode("utf-8", "replace")


def _in_child(fault: Fault, errors: int) -> int:
    signal.alarm(SECONDS)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(errors, 2)
    os.chdir(fault.script.parent)
    sys.argv, sys.path[0] = [str(fault.script)], str(fault.script.parent)
    warnings.simplefilter("always")
    torch.autograd.set_detect_anomaly(True)
    try:
        runpy.run_path(str(fault.script), run_name="__main__")
    except SystemExit as request:
        return request.code if isinstance(request.code, int) else 0
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stderr.flush()
    return 0


def main() -> None:
    """Print a table by kind, and the totals."""
    counts: dict[str, Counter[str]] = {}
    for fault in faults():
        cause = next(mark for mark in fault.marks if mark.role is None)
        status, text = run(fault)
        named = any(f'{Path(mark.file).name}", line {mark.line},' in text for mark in fault.marks if mark.role is None)
        row = counts.setdefault(cause.code, Counter())
        row.update(faults=1, named=int(named), silent=int(status == 0 and not named))
    print("| code | kind | faults | cause line named | exits 0, line not named |\n|---|---|---|---|---|")
    for code in sorted(counts):
        row = counts[code]
        print(f"| {code} | {NAMES.get(code, '')} | {row['faults']} | {row['named']} | {row['silent']} |")
    total = sum(counts.values(), Counter())
    print(f"| all | | {total['faults']} | {total['named']} | {total['silent']} |")


if __name__ == "__main__":
    main()
