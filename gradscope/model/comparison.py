"""Two recordings side by side: what is equal, where they part first, and how each was run.

A step of the timeline is a backward call: first what leads to it, then its graph, then what runs in it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gradscope.model.site import Site


class Stage(enum.IntEnum):
    """The parts of a step, in the order in which two runs are held against each other."""

    FORWARD = 0
    GRAPH = 1
    VALUES = 2
    BACKWARD = 3
    GRADIENTS = 4
    END = 5


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something in which two runs can differ: what one of them is called, and all of them."""

    name: str
    plural: str
    stage: Stage


ASPECTS = (
    Aspect("operator", "operators on the way to a backward", Stage.FORWARD),
    Aspect("dtype", "dtypes and shapes of tensors", Stage.FORWARD),
    Aspect("learning rate", "learning rates", Stage.FORWARD),
    Aspect("training call", "training calls", Stage.FORWARD),
    Aspect("line", "lines of operators and nodes", Stage.FORWARD),
    Aspect("node", "nodes", Stage.GRAPH),
    Aspect("edge", "edges", Stage.GRAPH),
    Aspect("tensor", "tensors of graphs", Stage.GRAPH),
    Aspect("hook", "hooks", Stage.GRAPH),
    Aspect("weight", "weights, as norms", Stage.VALUES),
    Aspect("loss", "losses", Stage.VALUES),
    Aspect("backward operator", "operators inside of backward calls", Stage.BACKWARD),
    Aspect("fired hook", "hooks that fired, and what they did", Stage.BACKWARD),
    Aspect("gradient", "gradients, as norms", Stage.GRADIENTS),
    Aspect("backward", "backward calls", Stage.END),
    Aspect("exception", "exceptions and exit statuses", Stage.END),
)
BY_NAME = {aspect.name: aspect for aspect in ASPECTS}


@dataclass(frozen=True, slots=True)
class Moment:
    """When: on the way to backward `backward`, or in it; `position` counts operators or nodes there from 0."""

    backward: int
    stage: Stage
    position: int = 0


@dataclass(frozen=True, slots=True)
class Side:
    """What one of the two runs has there, in words; `site` is its line. Empty words: nothing."""

    words: str = ""
    site: Site | None = None
    module: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """A stretch of source lines that differs. `first` counts from 1; a side without lines has no texts."""

    file: str
    other_file: str
    first: int
    texts: tuple[str, ...]
    other_first: int
    other_texts: tuple[str, ...]

    @property
    def site(self) -> Site:
        """Its first line: in the second run, or in the first where the second has none."""
        if self.other_texts:
            return Site(self.other_file, self.other_first, source=self.other_texts[0].strip())
        return Site(self.file, self.first, source=self.texts[0].strip() if self.texts else None)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference in one aspect. `edit` is the edited source line that it goes back to, where one is known;
    `rows` are the surroundings, each with a mark: " " for both, "-" for the first run only, "+" for the second."""

    aspect: Aspect
    moment: Moment
    step: int | None
    first: Side
    second: Side
    edit: Edit | None = None
    rows: tuple[tuple[str, Side], ...] = ()

    @property
    def site(self) -> Site | None:
        """The line to look at."""
        if self.edit is not None:
            return self.edit.site
        return self.second.site or self.first.site


@dataclass(frozen=True, slots=True)
class Tally:
    """How an aspect compares: how many there are in each, how many differ; None where nothing is recorded of it."""

    aspect: Aspect
    first: int
    second: int
    differ: int | None


@dataclass(frozen=True, slots=True)
class Circumstance:
    """Something about how the runs were made that is not the same: a version, a switch, an argument."""

    name: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Subject:
    """One of the two runs: its recording, its program, its working directory, the one step that is compared."""

    path: str
    program: str
    folder: str
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that is to be told of two runs. `differences`: one for each aspect that differs, the earliest first."""

    first: Subject
    second: Subject
    differences: tuple[Difference, ...]
    tallies: tuple[Tally, ...]
    circumstances: tuple[Circumstance, ...]
    edits: tuple[Edit, ...]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether the runs did the same; how they were made may differ."""
        return not self.differences
