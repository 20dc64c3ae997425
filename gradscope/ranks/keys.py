"""What makes an operator or a node the same in two runs, as one number that both runs share.

The key, as measured on edited programs, where operator names alone go wrong: operator, backward node, line, module.
The line is the first program's, found through the sources; wrappers' names are left out of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar

from gradscope.model.site import user_site
from gradscope.model.tensor import TensorType
from gradscope.ranks.choice import CONVERSIONS, PROFILER, Ignored
from gradscope.store.interned import Interned
from gradscope.store.rows import StandFor, unpacked
from gradscope.store.sequence_reader import NODE

Line = Callable[[str, int], Hashable]
Operator = tuple[int, int, int, int | None]
Types = tuple[TensorType | None, ...]
KEPT = 256  # of what is read together: that of a step comes back with the next one

Asked = TypeVar("Asked")
Told = TypeVar("Told")
WRAPPERS = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", ""})


def unwrapped(name: str) -> str:
    """A parameter's or module's name without those of wrappers around it."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


@dataclass(slots=True)
class Numbers:
    """Gives equal things, of either run, one number."""

    known: dict[Hashable, int] = field(default_factory=dict)
    things: list[Hashable] = field(default_factory=list)
    types: dict[TensorType, TensorType] = field(default_factory=dict)

    def of(self, thing: Hashable) -> int:
        """The number of a thing."""
        number = self.known.setdefault(thing, len(self.things))
        if number == len(self.things):
            self.things.append(thing)
        return number

    def one(self, kind: TensorType) -> TensorType:
        """The one object that stands for a type in both runs."""
        return self.types.setdefault(kind, kind)

    def without_line(self, number: int) -> int:
        """The number of the same operator or node, wherever it stands."""
        thing = self.things[number]
        if isinstance(thing, OperatorKey):
            node = None if thing.node is None else self.without_line(thing.node)
            return self.of(replace(thing, node=node, line=None))
        return self.of(replace(thing, line=None)) if isinstance(thing, NodeKey) else number


@dataclass(frozen=True, slots=True)
class OperatorKey:
    """What makes an operator the same; `node`: the number of the node that it ran in."""

    name: str
    node: int | None
    line: Hashable
    module: str


@dataclass(frozen=True, slots=True)
class NodeKey:
    """What makes a node the same. `leaf` is its name, or whether it is one."""

    name: str
    line: Hashable
    module: str
    levels: str | None
    leaf: str | bool
    function: str | None


class Once(dict[Asked, Told]):
    """What a function tells of things, each of which it is asked once: a look-up costs no call from then on."""

    def __init__(self, work: Callable[[Asked], Told]) -> None:
        super().__init__()
        self._work = work

    def __missing__(self, asked: Asked) -> Told:
        told = self[asked] = self._work(asked)
        return told


class Keys:
    """The keys of one run. `line` tells a line as the first program's; `leaf` a leaf's name as the first run's.

    `nodes`: the keys of nodes by their rows, None for those that are ignored.
    """

    def __init__(
        self, interned: Interned, numbers: Numbers, ignored: Ignored, line: Line, leaf: Callable[[str], str]
    ) -> None:
        self._interned, self._numbers, self._ignored, self._line, self._leaf = interned, numbers, ignored, line, leaf
        self._operators, self.nodes = Once(self._operator), StandFor(NODE, self._node)
        self._types, self.types = Once(self._type), lru_cache(KEPT)(self._read_types)
        self._places, self._modules = Once(self._place), Once(self._module)

    def operators(self, rows: list[Operator], nodes: Sequence[int | None]) -> list[int | None]:
        """The keys of rows of `read_operators`, None for those that are ignored; `nodes`: the keys of their graph."""
        keys: dict[int | None, int | None] = dict(enumerate(nodes))
        node_of = keys.get
        asked = [(name, stack, call, node_of(node)) for name, stack, call, node in rows]
        return list(map(self._operators.__getitem__, asked))

    def _operator(self, asked: Operator) -> int | None:
        name, stack, call, node = asked
        text = self._interned.string(name)
        if self._skips(text):
            return None
        line = self._places[stack] if node is None else None  # inside a node, the node's line says more
        return self._numbers.of(OperatorKey(text, node, line, self._modules[call]))

    def _node(self, row: tuple[Any, ...]) -> int | None:
        name, stack, parent_stack, call, levels, leaf, function = row
        text, custom, line = self._interned.string(name), self._interned.function(function), self._places[stack]
        told = NodeKey(
            name=text,
            line=self._places[parent_stack] if line is None else line,
            module=self._modules[call],
            levels=self._interned.name(levels),
            leaf=self._leaf(self._interned.string(leaf)) if leaf and not self._ignored.names else bool(leaf),
            function=None if custom is None else custom.bare_name,
        )
        return None if self._skips(text) else self._numbers.of(told)

    def _read_types(self, column: str) -> Types:
        """Packed numbers as types, None for 0; equal ones of both runs are one object, which is quick to compare."""
        return tuple(map(self._types.__getitem__, unpacked(column)))

    def _type(self, number: int) -> TensorType | None:
        return self._numbers.one(self._interned.type(number)) if number else None

    def _skips(self, name: str) -> bool:
        return name.startswith(PROFILER) or (self._ignored.dtype and name in CONVERSIONS)

    def _place(self, stack: int) -> Hashable:
        site = None if self._ignored.lines else user_site(self._interned.stack(stack))
        return None if site is None else self._line(site.file, site.line)

    def _module(self, call: int) -> str:
        found = None if self._ignored.names else self._interned.call(call)
        return "" if found is None else unwrapped(found.path)
