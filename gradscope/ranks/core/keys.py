"""What makes an operator or a node the same in two runs, as one number that both runs share.

The key, as measured on edited programs, where operator names alone go wrong: operator, backward node, line, module.
The line is the first program's, found through the sources; wrappers' names are left out of the module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, compress
from typing import Any, NamedTuple, TypeVar, cast

from gradscope.model.site import user_site
from gradscope.model.tensor import TensorType
from gradscope.ranks.core.choice import CONVERSIONS, PROFILER, Ignored
from gradscope.store.interned import Interned
from gradscope.store.rows import Packed, unpacked

Line = Callable[[str, int], Hashable]
Types = tuple[TensorType | None, ...]
KEPT = 256  # of what is read together: that of a step comes back with the next one

Thing = TypeVar("Thing", bound=Hashable)
Asked = TypeVar("Asked")
Told = TypeVar("Told")
WRAPPERS = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", ""})
MODEL = re.compile(r"([^.#]+)(?:#\d+)?(?=\.)")  # at the begin of a name: the class of a model, and its number


def unwrapped(name: str) -> str:
    """A parameter's or module's name without those of wrappers around it."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def renamed(leaf: str, models: Mapping[str, str]) -> str:
    """A parameter's name where its model has another one."""
    model = MODEL.match(leaf)
    return leaf if model is None else models.get(model[0], model[0]) + leaf[model.end() :]


@dataclass(slots=True)
class Numbers:
    """Gives equal things, of either run, one number."""

    known: dict[Hashable, int] = field(default_factory=dict)
    things: list[Hashable] = field(default_factory=list)
    ones: dict[Hashable, Hashable] = field(default_factory=dict)

    def of(self, thing: Hashable) -> int:
        """The number of a thing."""
        number = self.known.setdefault(thing, len(self.things))
        if number == len(self.things):
            self.things.append(thing)
        return number

    def one(self, thing: Thing) -> Thing:
        """The one object that stands for equal things in both runs, which is quick to compare."""
        return cast(Thing, self.ones.setdefault(thing, thing))

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


class Operators(NamedTuple):
    """What makes some operators the same, a column each: for one that ran in a node the node's key, and no line."""

    names: tuple[str | None, ...]
    nodes: tuple[int | None, ...]
    lines: tuple[Hashable, ...]
    modules: tuple[str, ...]


def joined(parts: Sequence[Operators]) -> Operators:
    """Those of several stretches."""
    columns = zip(*parts, strict=True) if parts else ((),) * len(Operators._fields)
    return Operators._make(tuple(chain.from_iterable(column)) for column in columns)


class Once(dict[Asked, Told]):
    """What a function tells of things, each of which it is asked once: a look-up costs no call from then on."""

    def __init__(self, work: Callable[[Asked], Told]) -> None:
        super().__init__()
        self._work = work

    def __missing__(self, asked: Asked) -> Told:
        told = self[asked] = self._work(asked)
        return told


class Keys:
    """The keys of one run. `line` tells a line as the first program's; `leaf` a leaf's name as the first run's."""

    def __init__(
        self, interned: Interned, numbers: Numbers, ignored: Ignored, line: Line, leaf: Callable[[str], str]
    ) -> None:
        self._interned, self._numbers, self._ignored, self._line, self._leaf = interned, numbers, ignored, line, leaf
        self._keys, self._nodes = Once(self._key), Once(self._node)
        self._names = Once(self._name)
        self._types, self.types = Once(self._type), lru_cache(KEPT)(self._read_types)
        self._places, self._modules = Once(self._place), Once(self._module)
        self._lines_of, self._modules_of = lru_cache(KEPT)(self._read_lines), lru_cache(KEPT)(self._read_modules)

    def operators(self, packed: Packed, nodes: Sequence[int | None]) -> Operators:
        """Those of a block, as `read_operators` gives them, without those that are ignored.

        `nodes`: the keys of their graph's.
        """
        names, stacks, calls, ran_in = packed
        if not names:
            return joined([])
        named = tuple(map(self._names.__getitem__, names.split(",")))
        inside = tuple(map(dict(enumerate(nodes)).get, map(int, ran_in.split(",")))) if nodes else (None,) * len(named)
        lines: tuple[Hashable, ...] = (None,) * len(named)  # inside a node, the node's line says more
        if None in inside:
            told = zip(inside, self._lines_of(stacks), strict=True)
            lines = tuple(line if node is None else None for node, line in told)
        found = Operators(named, inside, lines, self._modules_of(calls))
        if len(set(map(len, found))) > 1:
            raise ValueError("a block of operators has columns of several lengths")
        if None in named:
            heeded = [name is not None for name in named]
            return Operators._make(tuple(compress(column, heeded)) for column in found)
        return found

    def keys(self, operators: Operators) -> tuple[int, ...]:
        """Their keys, as numbers."""
        return tuple(map(self._keys.__getitem__, zip(*operators, strict=True)))

    def _key(self, told: tuple[Any, ...]) -> int:
        return self._numbers.of(OperatorKey(*told))

    def skips(self, name: int) -> bool:
        """Whether operators of such a name are ignored."""
        return self._skips(self._interned.string(name))

    def _name(self, number: str) -> str | None:
        text = self._interned.string(int(number))
        return None if self._skips(text) else self._numbers.one(text)

    def _read_lines(self, stacks: str) -> tuple[Hashable, ...]:
        return tuple(map(self._places.__getitem__, unpacked(stacks)))

    def _read_modules(self, calls: str) -> tuple[str, ...]:
        return tuple(map(self._modules.__getitem__, unpacked(calls)))

    def nodes(self, packed: Packed) -> tuple[int | None, ...]:
        """The keys of nodes, as `read_nodes` gives them, None for those that are ignored."""
        columns = (text.split(",") if text else () for text in packed)
        return tuple(map(self._nodes.__getitem__, zip(*columns, strict=True)))

    def _node(self, row: tuple[str, ...]) -> int | None:
        name, stack, parent_stack, call, levels, leaf, function = map(int, row)
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
        return None if site is None else self._numbers.one(self._line(site.file, site.line))

    def _module(self, call: int) -> str:
        found = None if self._ignored.names else self._interned.call(call)
        return "" if found is None else self._numbers.one(unwrapped(found.path))
