"""How ranks are named in a sentence."""

from __future__ import annotations


def named(numbers: list[int]) -> str:
    """`rank 3`, `ranks 1, 4 to 7 and 9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = [word for run in runs for word in (_run(run) if len(run) > 2 else map(str, run))]
    if len(words) == 1:
        return f"rank {words[0]}" if len(numbers) == 1 else f"ranks {words[0]}"
    return f"ranks {', '.join(words[:-1])} and {words[-1]}"


def _run(numbers: list[int]) -> list[str]:
    return [f"{numbers[0]} to {numbers[-1]}"]
