"""Walks through a replay by typed commands, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable

from gradscope.errors import UsageError
from gradscope.graphs.find import find
from gradscope.model.printable import printable
from gradscope.model.site import Origin
from gradscope.render.replay_text import queue, step_lines
from gradscope.view.replay import Replay, ReplayStep
from gradscope.view.words import place

HELP = """\
next [N]      the next step, or N steps on (also: n, an empty line)
back [N]      the step before (b)
until NODE    on to the next step at NODE, a place (#12), id, name, leaf or FILE:LINE (u)
find NODE     list the steps at such nodes (f)
where         the lines that made this node, innermost first (w)
queue         the ready queue after this step (q)
list          this step again (l)
help          this text (h)
quit          leave (also: exit, end of input)"""


class Stepper:
    """Where the reader is. `answer` gives the text for a command, None to leave."""

    def __init__(self, replay: Replay, color: bool, start: int = 0, width: int | None = None) -> None:
        self._replay, self._color, self._at, self._width = replay, color, start, width
        table: tuple[tuple[str, str, Callable[[str], str | None]], ...] = (
            ("next", "n", lambda words: self._move(_count(words))),
            ("back", "b", lambda words: self._move(-_count(words))),
            ("until", "u", self._until),
            ("find", "f", self._find),
            ("where", "w", lambda words: self._where()),
            ("queue", "q", lambda words: printable(queue(replay, self._step))),
            ("list", "l", lambda words: self.show()),
            ("help", "h", lambda words: HELP),
            ("quit", "exit", lambda words: None),
        )
        self._commands = {name: act for long, short, act in table for name in (long, short)}

    def answer(self, line: str) -> str | None:
        """Do what a line says."""
        name, _, words = line.strip().partition(" ")
        act = self._commands.get(name.lower() or "next")
        if act is None:
            return f"there is no command {name!r}; help lists them"
        try:
            return act(words.strip())
        except UsageError as error:
            return f"{error.sentence}; {error.hint}" if error.hint else error.sentence

    def show(self) -> str:
        """The step where the reader is."""
        return "\n".join(step_lines(self._replay, self._step, self._color, self._width))

    @property
    def _step(self) -> ReplayStep:
        return self._replay.steps[self._at]

    def _move(self, count: int) -> str:
        last = len(self._replay.steps) - 1
        target = min(max(self._at + count, 0), last)
        if target == self._at and count:
            return "this is the last step" if count > 0 else "this is the first step"
        self._at = target
        return self.show()

    def _until(self, text: str) -> str:
        wanted = {node.id for node in find(self._replay.graph, text, self._replay.places)}
        for number in range(self._at + 1, len(self._replay.steps)):
            if self._replay.steps[number].node.id in wanted:
                self._at = number
                return self.show()
        return f"no later step is at {text!r}"

    def _find(self, text: str) -> str:
        wanted = {node.id for node in find(self._replay.graph, text, self._replay.places)}
        heads = [
            step_lines(self._replay, step, self._color, self._width)[0]
            for step in self._replay.steps
            if step.node.id in wanted
        ]
        return "\n".join(heads) or f"no step is at {text!r}"

    def _where(self) -> str:
        node = self._step.node
        stack = node.stack or (node.parent.stack if node.parent else ())
        lines = [
            printable(f"{place(site, self._replay.run.cwd)}  in {site.function}  {site.source or ''}".rstrip())
            for site in stack
            if site.origin is not Origin.TORCH
        ]
        return "\n".join(lines) or "nobody saw the line that made this node"


def _count(words: str) -> int:
    if not words:
        return 1
    if not (words.isascii() and words.isdigit()):
        raise UsageError(f"{words!r} is no number of steps")
    return int(words[:9])
