"""The CPU seconds that checking one Function costs beyond importing torch, without and with the compile trials.

Prints a Markdown table. A process is measured with all its children, once for the check and once for importing alone
what every check imports; the lesser of two runs counts, because other work on the machine only ever adds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMES = (
    "tests.functions.corpus.base.Square",
    "tests.functions.corpus.base.Product",
    "tests.functions.corpus.realistic.LayerNorm",
    "tests.functions.corpus.realistic.Attention",
    "tests.functions.corpus.libraries.FusedRMSNorm",
)
RUNS = 2


def seconds(*arguments: str) -> float:
    """The user and system time of a Python process and of all its children."""

    def once() -> float:
        before = os.times()
        subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return min(once() for _ in range(RUNS))


def main() -> None:
    """Measure and print."""
    imports = seconds("-c", "import torch")
    print(f"importing torch alone: {imports:.1f} s\n")
    print("| Function | without the compile trials | with them |\n|---|---|---|")
    for name in NAMES:
        check = ("-m", "gradscope", "check-function", name, "-q")
        costs = [seconds(*check, "--level", level) - imports for level in ("func", "compile")]
        print(f"| {name.rpartition('.')[2]} | {costs[0]:.1f} s | {costs[1]:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
