"""Reads a recording back as the model's nouns, without torch. Queries run when asked for, so that
`info` stays fast on any file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gradscope.errors import NothingCheckedError, UnreadableError, UsageError
from gradscope.model.graph import Backward, Graph
from gradscope.model.printable import printable
from gradscope.store.asked import OpenTables
from gradscope.store.facts import Facts
from gradscope.store.file import OpenFile, damage_is_one_sentence, open_file, show
from gradscope.store.in_graphs import node_names, read_names
from gradscope.store.measurements import read_gradients, read_node_runs
from gradscope.store.rows import INTEGER, MAYBE, REAL, TEXT
from gradscope.store.run_reader import read_calls
from gradscope.store.started import folders_started_by

if TYPE_CHECKING:
    from gradscope.model.dispatch import StoredBackward
    from gradscope.model.operation import Block
    from gradscope.model.statistics import GradientStatistics, NodeRun
    from gradscope.model.summary import Calls
    from gradscope.model.tensor import StoredTensor

SUFFIX = ".gscope"

Method = TypeVar("Method", bound=Callable[..., Any])


def load(path: str | os.PathLike[str] | None = None) -> Recording:
    """Open a recording; without a path, the newest in $GRADSCOPE_DIR or the working directory."""
    return Recording(open_recording(path))


def open_recording(path: str | os.PathLike[str] | None) -> OpenFile:
    """The file of a recording; without a path, that of the newest."""
    return open_file(newest() if path is None else Path(path))


def newest(folder: Path | None = None, rank: int | None = None) -> Path:
    """The recording written to last in a folder, else in $GRADSCOPE_DIR or the working directory; of a rank, it may
    stand in the folder of what a recording there started."""
    folder = folder or Path(os.environ.get("GRADSCOPE_DIR") or ".")
    files = [path for path in folder.glob(f"*{SUFFIX}") if path.is_file()]
    found = files if rank is None else _of_rank(files, rank) or started_as(files, rank)
    if not found:
        where = show(folder) if str(folder) != "." else "this directory"
        hint = "make one with `gradscope trace SCRIPT`, or name one"
        of_rank = "" if rank is None else f" of rank {rank}"
        raise UnreadableError(f"there is no {SUFFIX} file{of_rank} in {where}", hint)
    return max(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


def started_as(launchers: list[Path], rank: int) -> list[Path]:
    """The recordings of a rank in the folder of the newest launch by one of these that has any."""
    folders = ([*folder.glob(f"*{SUFFIX}")] for folder in folders_started_by(launchers))
    return next(filter(None, (_of_rank(files, rank) for files in folders)), [])


def _of_rank(files: list[Path], rank: int) -> list[Path]:
    """Those of a rank, by their names; ranks that the program started itself are not called so."""
    named = [path for path in files if re.search(rf"\.r{rank:05d}-of-", path.name)]
    return named or [path for path in files if _rank_of(path) == rank]


def _rank_of(path: Path) -> int | None:
    try:
        with load(path) as recording:
            return recording.run().rank
    except UnreadableError:
        return None


def _guarded(method: Method) -> Method:
    """Report damage that a method meets in one sentence."""

    @wraps(method)
    def guarded(self: Recording, *args: Any, **kwargs: Any) -> Any:
        with damage_is_one_sentence(self.path):
            return method(self, *args, **kwargs)

    return cast(Method, guarded)


class Recording(Facts):
    """An open recording; close it, or use it in a `with`."""

    def __init__(self, file: OpenFile) -> None:
        super().__init__(OpenTables.of(file))
        self._node_names = node_names(self._interned)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """`<Recording gpt.gscope: gpt.py, 10 backward calls, 2,640 nodes>`, for notebooks."""
        try:
            found = self.census()
        except Exception as error:  # closed, or damaged: a repr never raises
            return f"<Recording {self.path}: {type(error).__name__}>"
        ended = "" if self.run().ended else ", no clean end"
        program = printable(self.run().program)
        return f"<Recording {self.path}: {program}, {found.backwards:,} backward calls, {found.nodes:,} nodes{ended}>"

    def hold(self) -> None:
        """Lock the file once for all that is read, where its run has ended, so that nobody waits to write it."""
        if self.run().ended:
            self.tables.file.hold()

    def close(self) -> None:
        """Close the file."""
        self.tables.file.close()

    @property
    def recovered(self) -> bool:
        """Whether the run was killed or still goes on, so that a private copy up to its last commit is read."""
        return self.tables.file.recovered

    @_guarded
    def calls(self, alike: bool = False) -> tuple[Calls, ...]:
        """The backward calls in short; with `alike`, those that differ in nothing but their number together."""
        return read_calls(self._rows, self._interned, alike)

    @_guarded
    def graph(self, number: int | None = None) -> Graph:
        """The graph of a backward call; without a number, of the last outermost call that reached one."""
        return self._backwards.graph(self._backwards.call(self.chosen(number)))

    @_guarded
    def chosen(self, number: int | None = None) -> int:
        """The number of a backward call that reached a graph; without one, of the last outermost such call."""
        return self._last() if number is None else self._known(number)

    @_guarded
    def saved_bytes(self, number: int) -> int | None:
        """What a backward call's graph kept for it, in bytes; quicker than its graph."""
        sql = "SELECT t.saved_bytes FROM backward b JOIN tensors t ON t.id = b.tensors WHERE b.number = ?"
        return next((int(saved) for (saved,) in self._rows.select(sql, (INTEGER,), number)), None)

    @_guarded
    def by_graph(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the calls that reached a graph, those with the same graph together."""
        groups: dict[int, list[int]] = {}
        sql = "SELECT number, graph FROM backward WHERE graph IS NOT NULL ORDER BY number"
        for number, graph in self._rows.select(sql, (INTEGER, INTEGER)):
            groups.setdefault(graph, []).append(number)
        return tuple(tuple(group) for group in groups.values())

    def alike(self, number: int) -> tuple[int, ...]:
        """The numbers of the calls with the same graph as one of them."""
        return next((group for group in self.by_graph() if number in group), (number,))

    @_guarded
    def names(self, number: int) -> list[tuple[str, str]]:
        """Short name and line of every node that a backward call reached; quicker than its graph."""
        return read_names(self._rows, self._node_names, number)

    def blocks(self) -> Iterator[Block]:
        """The stretches of operators, in order."""
        from gradscope.store.operation_reader import read_blocks

        with damage_is_one_sentence(self.path):
            yield from read_blocks(self._rows, self._interned)

    @_guarded
    def begun(self) -> list[tuple[int, float]]:
        """The thread and the beginning of every stretch of operators, in order; quicker than the stretches."""
        return self._rows.all("SELECT thread, started FROM block_run ORDER BY number", (INTEGER, REAL))

    @_guarded
    def node_runs(self, number: int) -> tuple[NodeRun, ...]:
        """What the engine ran in a backward call, in order (`--detail full`)."""
        return tuple(read_node_runs(self._rows, number))

    @_guarded
    def gradients(self, number: int) -> tuple[GradientStatistics, ...]:
        """The gradients measured in a backward call (`--detail full`)."""
        return tuple(read_gradients(self._rows, number))

    @_guarded
    def tensors(self, number: int) -> tuple[StoredTensor, ...]:
        """The root gradients and saved tensors of a backward call whose bytes are stored (`trace --tensors`)."""
        from gradscope.store.dispatch_reader import read_tensors

        return read_tensors(self._rows, self._interned, number)

    @_guarded
    def stored(self, number: int) -> StoredBackward:
        """What it takes to run an outermost backward call again (`trace --tensors`); empty when nothing was stored."""
        from gradscope.store.dispatch_reader import read_stored

        return read_stored(self._rows, self._interned, number)

    @_guarded
    def operators(self, number: int) -> tuple[tuple[int | None, str], ...]:
        """Node and name of each operator that ran inside a backward call, in order; quicker than its blocks."""
        sql = """SELECT node, name FROM block_run AS stretch JOIN operation ON operation.block = stretch.block
          WHERE backward = ? ORDER BY stretch.number, operation.number"""
        found = self._rows.select(sql, (INTEGER | MAYBE, INTEGER), number)
        return tuple((node, self._interned.string(name)) for node, name in found)

    @_guarded
    def nested(self, number: int) -> tuple[Backward, ...]:
        """The backward calls that started inside one, by number."""
        return tuple(call.backward for call in self._backwards.calls(number))

    @_guarded
    def source(self, file: str) -> str | None:
        """The whole text of one of the user's files, if the recording has it."""
        sql = "SELECT id, text FROM string WHERE id IN (SELECT file FROM source)"
        number = next((number for number, text in self._rows.select(sql, (INTEGER, TEXT)) if text == file), None)
        return None if number is None else self._interned.source(number)

    def scrub(self, output: Path) -> None:
        """Write a copy without sources, paths, arguments and environment. Raises UsageError when that cannot be."""
        from gradscope.store.scrub import scrub

        scrub(self.tables.file.connection, self.path, output)

    def _last(self) -> int:
        sql = "SELECT number, graph FROM backward ORDER BY graph IS NULL, nested_in IS NOT NULL, number DESC LIMIT 1"
        for number, graph in self._rows.select(sql, (INTEGER, INTEGER | MAYBE)):
            if graph is not None:
                return int(number)
            sentence = "no backward call in this recording reached a graph: each raised before it started"
            raise NothingCheckedError(sentence, "see `gradscope info` for what they raised")
        sentence = "this recording holds no backward call: nothing called .backward() or autograd.grad while it ran"
        raise NothingCheckedError(sentence, "see `gradscope info` for how the run ended and what was dropped")

    def _known(self, number: int) -> int:
        sql = "SELECT graph FROM backward WHERE number = ?"
        found = [graph for (graph,) in self._rows.select(sql, (INTEGER | MAYBE,), number)]
        if found == [None]:
            raise NothingCheckedError(f"backward {number} reached no graph: it raised before it started")
        if not found:
            self._last()
            first = self._rows.number("SELECT min(number) FROM backward")
            last = self._rows.number("SELECT max(number) FROM backward")
            raise UsageError(f"there is no backward {number} in this recording, which holds {first} to {last}")
        return number
