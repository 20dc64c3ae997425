"""What the probes of one recording have in common, and how one gets at another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gradscope.model.detail import Detail
from gradscope.probes.core.events import Events
from gradscope.probes.core.faults import Faults
from gradscope.probes.core.operator import Operator
from gradscope.probes.core.qualified_names import QualifiedNames
from gradscope.probes.core.sink import Sink
from gradscope.probes.core.stacks import Stacks
from gradscope.probes.core.steps import Steps
from gradscope.probes.core.threads import Threads

Probe = TypeVar("Probe")


@dataclass(frozen=True, slots=True)
class Options:
    """What is to be recorded. `detail` is what was asked for, as far as torch allows; `lacking` what it does not."""

    detail: Detail
    lacking: frozenset[str]
    watch_all: bool  # see the operators of every backward call, also of those that repeat
    tensors: int | None  # how many bytes of tensors to store, None for no tensors at all
    folder: Path  # of the recording

    def has(self, *capabilities: str) -> bool:
        """Whether torch has what each of these capabilities needs."""
        return self.lacking.isdisjoint(capabilities)


@dataclass(frozen=True, slots=True)
class Context:
    """What the probes of one recording share."""

    sink: Sink
    threads: Threads
    stacks: Stacks
    names: QualifiedNames
    faults: Faults
    steps: Steps
    events: Events
    options: Options
    started: float  # on the clock of time.perf_counter: the time from which backward calls and blocks count theirs
    operators: dict[str, Operator] = field(default_factory=dict)  # those that have run, by the identity of torch's own
    _built: dict[Callable[[Context], Any], Any] = field(default_factory=dict)

    def get(self, probe: Callable[[Context], Probe]) -> Probe:
        """The one probe of a class (or of a factory), built when it is first asked for."""
        if probe not in self._built:
            self._built[probe] = probe(self)
        found: Probe = self._built[probe]
        return found
