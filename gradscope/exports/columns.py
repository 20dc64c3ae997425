"""Operators as columns, in which each text is a number: a table of millions is written without a row being built."""

from __future__ import annotations

from gradscope.model.operation import Block, Operation
from gradscope.store.reader import Recording

PHASES = ("forward", "backward")


class _Words(dict[str, int]):
    """Gives each text its number when it is first asked for."""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number


class Columns:
    """The columns of some operators. `by_row`: values for each; `by_code`: values for each kind of operator, of which
    `codes` holds one for each; `words`: the texts that the numbers of a column stand for."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._steps = {call.number: call.step for call in recording.backwards()}
        self._graphs = {number: group[0] for group in recording.by_graph() for number in group}
        self._nodes: dict[int | None, list[int | None]] = {None: []}
        self._codes: dict[int, int] = {}  # by identity: operations are interned for as long as there are more of them
        self._numbers = {name: _Words() for name in ("operator", "node", "file", "module")}
        self._numbers["phase"] = _Words(zip(PHASES, range(len(PHASES)), strict=True))
        self._step = self._position = 0
        self.by_code: dict[str, list[int | None]] = {
            name: [] for name in ("operator", "file", "line", "module", "grad")
        }
        self.clear()

    def __len__(self) -> int:
        return len(self.codes)

    def clear(self) -> None:
        """Begin anew, with the operators that follow."""
        names = ("step", "position", "thread", "backward", "phase", "node")
        self.by_row: dict[str, list[int | None]] = {name: [] for name in names}
        self.codes: list[int] = []

    @property
    def words(self) -> dict[str, list[str]]:
        """The texts of each column of texts, by their numbers."""
        return {name: list(numbers) for name, numbers in self._numbers.items()}

    def add(self, block: Block) -> None:
        """The operators of a stretch."""
        operations, number, rows = block.operations, block.backward, self.by_row
        count = len(operations)
        step = self._step if number is None else self._steps.get(number, self._step)
        rows["step"] += [step] * count
        rows["position"] += range(self._position, self._position + count)
        rows["thread"] += [block.thread] * count
        rows["backward"] += [number] * count
        rows["phase"] += [0 if number is None else 1] * count
        rows["node"] += self._nodes_of(operations, number)
        self.codes += self._codes_of(operations)
        self._position += count
        if number is not None:
            self._step = step + 1

    def _nodes_of(self, operations: tuple[Operation, ...], backward: int | None) -> list[int | None]:
        """The number of the name of the node in which each ran."""
        graph = None if backward is None else self._graphs.get(backward)
        if graph not in self._nodes:
            assert graph is not None
            words = self._numbers["node"]
            self._nodes[graph] = [words[name] for name, _ in self._recording.names(graph)]
        nodes = self._nodes[graph]
        if not nodes:
            return [None] * len(operations)
        last = len(nodes) - 1
        return [None if (node := one.node) is None or node > last else nodes[node] for one in operations]

    def _codes_of(self, operations: tuple[Operation, ...]) -> list[int]:
        known = self._codes
        try:
            return list(map(known.__getitem__, map(id, operations)))  # nearly always
        except KeyError:
            return [known[id(one)] if id(one) in known else self._code(one) for one in operations]

    def _code(self, one: Operation) -> int:
        """The number of a kind of operator, at the first of them."""
        site, module, words = one.site, one.module, self._numbers
        self.by_code["operator"].append(words["operator"][one.name])
        self.by_code["file"].append(None if site is None else words["file"][site.file])
        self.by_code["line"].append(None if site is None else site.line)
        self.by_code["module"].append(None if module is None else words["module"][module.path])
        self.by_code["grad"].append(one.grad)
        code = self._codes[id(one)] = len(self._codes)
        return code
