"""What is said of rounds that are the same, in every picture alike: how many, of what, which ones, what flows on."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.graphs.walk import nodes_of
from gradscope.model.graph import Node
from gradscope.model.group import Group, Repeat
from gradscope.view.words import TIMES, amount, kinds, place, short_name

MARK = "\N{VERTICAL ELLIPSIS}"
STEP = "step"


@dataclass(frozen=True, slots=True)
class RoundWords:
    """`98x same step`; `steps 2 ... 99, rnn.py:8`; `490 nodes`; for a step, its operators."""

    title: str
    span: str
    nodes: str
    body: str = ""

    @property
    def line(self) -> str:
        """All in a line."""
        said = f"{self.title}: {self.span} ({self.nodes})"
        return f"{said}  {self.body}" if self.body else said


def between(repeat: Repeat) -> tuple[tuple[Node | Group, ...], ...]:
    """The rounds that share a box or a line: all but the first and the last, which every picture shows."""
    return repeat.rounds[1:-1]


def round_words(repeat: Repeat, folder: str = "") -> RoundWords:
    """What is said of those between."""
    rounds = between(repeat)
    title = f"{len(rounds):,}{TIMES} same {kind_of(repeat)}"
    nodes = amount(len(rounds) * sum(1 for _ in nodes_of(rounds[0])), "node")  # rounds are the same all the way down
    first, last = name_of(repeat, 1), name_of(repeat, len(rounds))
    span = first if len(rounds) == 1 else f"{first} … {last}"
    if is_step(repeat):
        span = span.replace("step", "steps", 1) if len(rounds) > 1 else span
        span = span.replace("… step ", "… ") + _lines(rounds[0], folder)
        return RoundWords(title, span, nodes, kinds(node for node in rounds[0] if isinstance(node, Node)))
    return RoundWords(title, span, nodes)


def is_step(repeat: Repeat) -> bool:
    """Whether a round is a step of a loop, and no call of a module that has a name."""
    return len(repeat.rounds[0]) > 1 or isinstance(repeat.rounds[0][0], Node)


def kind_of(repeat: Repeat) -> str:
    """What a round is: the class of the module that is called, or a step and the calls in it."""
    calls = [part.module_class or part.name for part in repeat.rounds[0] if isinstance(part, Group)]
    if not is_step(repeat):
        return calls[0]
    single = repeat.rounds[0][0]
    if isinstance(single, Node) and len(repeat.rounds[0]) == 1:
        return f"{STEP} ({short_name(single)})"
    return f"{STEP} ({' + '.join(calls)})" if calls else STEP


def name_of(repeat: Repeat, position: int) -> str:
    """The name of a round: that of its first call, or the number of its step."""
    call = next((part.name for part in repeat.rounds[position] if isinstance(part, Group)), None)
    return call or f"{STEP} {repeat.start + position}"


def _lines(one: tuple[Node | Group, ...], folder: str) -> str:
    """`, rnn.py:8-9`: the lines of a round's own nodes."""
    sites = [part.site for part in one if isinstance(part, Node) and part.site is not None]
    if not sites or len({site.file for site in sites}) > 1:
        return ""
    first, last = min(sites, key=lambda site: site.line), max(sites, key=lambda site: site.line)
    return f", {place(first, folder)}" + (f"-{last.line}" if last.line > first.line else "")
