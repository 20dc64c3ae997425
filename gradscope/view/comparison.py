"""What is said of two runs side by side, in sentences that every format shares."""

from __future__ import annotations

from gradscope.model.comparison import Comparison, Difference, Moment, Side, Stage, Tally
from gradscope.view.words import place

NOTHING = "nothing there"
BY_VALUES = ("weight", "loss", "gradient", "learning rate")


def headline(comparison: Comparison) -> str:
    """The answer in one sentence."""
    if comparison.equal:
        ignored = f", {' and '.join(comparison.ignored)} ignored" if comparison.ignored else ""
        return f"both runs did the same{ignored}"
    first = comparison.differences[0]
    what = {"line": "the code stands elsewhere", "exception": "the runs end differently"}
    known = what.get(first.aspect.name, f"the first difference is {article(first.aspect.name)} {first.aspect.name}")
    return f"{known}, {when(first.moment, first.step, comparison)}"


def identical(comparison: Comparison) -> str:
    """How far the runs are the same."""
    if comparison.equal:
        return ""
    moment = comparison.differences[0].moment
    if not moment.backward and moment.stage is Stage.FORWARD and not moment.position:
        return "nothing is identical: the runs part at once"
    return f"identical up to {_up_to(comparison.differences[0], comparison)}"


def when(moment: Moment, step: int | None, comparison: Comparison) -> str:
    """At which time of the runs."""
    number = f"backward {moment.backward}"
    if step is None:
        return "after the last backward call"
    numbered = f"{number} (step {step})" if step != moment.backward else number
    before = {Stage.FORWARD: "on the way to", Stage.VALUES: "before"}
    return f"{before.get(moment.stage, 'in')} {numbered}"


def article(noun: str) -> str:
    """`an` before a vowel."""
    return "an" if noun[0] in "aeiou" else "a"


def _up_to(difference: Difference, comparison: Comparison) -> str:
    moment, name = difference.moment, difference.aspect.name
    number = f"backward {moment.backward}"
    if name == "exception":
        return "the end"
    if name == "learning rate":
        return f"backward {moment.backward - 1}"
    if moment.stage is Stage.FORWARD:
        noun = "call" if name == "training call" else "operator"
        way = "after the last backward call" if difference.step is None else f"on the way to {number}"
        return f"{noun} {moment.position:,} {way}"
    if moment.stage is Stage.BACKWARD:
        noun = "operator" if name == "backward operator" else "hook"
        return f"{number}, {noun} {moment.position:,} in it"
    if name in ("node", "tensor", "line"):
        return f"{number}, node {moment.position:,}"
    return number


def side_words(side: Side, folder: str) -> str:
    """What one run has, and its line."""
    if not side.words:
        return NOTHING
    module = f" of {side.module}" if side.module else ""
    return f"{side.words}{module}{f'  {place(side.site, folder)}' if side.site is not None else ''}"


def tally_words(tally: Tally) -> str:
    """How an aspect compares."""
    if not tally.first and not tally.second:
        return "none in either" if not tally.differ else f"{tally.differ:,} differ"
    counts = f"{tally.first:,}" if tally.first == tally.second else f"{tally.first:,} and {tally.second:,}"
    return f"{counts}, equal" if not tally.differ else f"{counts}, {tally.differ:,} differ"
