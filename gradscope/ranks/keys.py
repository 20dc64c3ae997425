"""What makes an operator or a node the same in two runs, as one number that both runs share.

The key, as measured on edited programs, where operator names alone go wrong: operator, backward node, line, module.
The line is the first program's, found through the sources; wrappers' names are left out of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

from gradscope.model.site import Stack, user_site
from gradscope.ranks.choice import CONVERSIONS, PROFILER, Ignored
from gradscope.store.interned import Interned

Line = Callable[[str, int], Hashable]
WRAPPERS = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", ""})


def unwrapped(name: str) -> str:
    """A parameter's or module's name without those of wrappers around it."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


@dataclass(slots=True)
class Numbers:
    """Gives equal things, of either run, one number."""

    known: dict[Hashable, int] = field(default_factory=dict)
    things: list[Hashable] = field(default_factory=list)

    def of(self, thing: Hashable) -> int:
        """The number of a thing."""
        number = self.known.setdefault(thing, len(self.things))
        if number == len(self.things):
            self.things.append(thing)
        return number

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


class Keys:
    """The keys of one run. `line` tells a line as the first program's; `leaf` a leaf's name as the first run's."""

    def __init__(
        self, interned: Interned, numbers: Numbers, ignored: Ignored, line: Line, leaf: Callable[[str], str]
    ) -> None:
        self._interned, self._numbers, self._ignored, self._line, self._leaf = interned, numbers, ignored, line, leaf
        self._operators: dict[Hashable, int | None] = {}
        self._nodes: dict[tuple[int, ...], int | None] = {}
        self._places: dict[int, Hashable] = {}
        self._modules: dict[int, str] = {}

    def operator(self, name: int, stack: int, call: int, node: int | None) -> int | None:
        """The key of an operator; `node`: the key of the node that it ran in. None: it is ignored."""
        asked = (name, stack, call, node)
        if asked not in self._operators:
            text = self._interned.string(name)
            line = self._place(stack) if node is None else None  # inside a node, the node's line says more
            told = OperatorKey(text, node, line, self._module(call))
            self._operators[asked] = None if self._skips(text) else self._numbers.of(told)
        return self._operators[asked]

    def node(self, row: tuple[int, ...]) -> int | None:
        """The key of a node, from a row of `read_nodes`. None: it is ignored."""
        if row not in self._nodes:
            name, stack, parent_stack, call, levels, leaf, function = row
            text, custom = self._interned.string(name), self._interned.function(function)
            told = NodeKey(
                name=text,
                line=self._place(stack if self._place(stack) is not None else parent_stack),
                module=self._module(call),
                levels=self._interned.name(levels),
                leaf=self._leaf(self._interned.string(leaf)) if leaf and not self._ignored.names else bool(leaf),
                function=None if custom is None else custom.bare_name,
            )
            self._nodes[row] = None if self._skips(text) else self._numbers.of(told)
        return self._nodes[row]

    def _skips(self, name: str) -> bool:
        return name.startswith(PROFILER) or (self._ignored.dtype and name in CONVERSIONS)

    def _place(self, stack: int) -> Hashable:
        if self._ignored.lines:
            return None
        if stack not in self._places:
            self._places[stack] = self._line_of(self._interned.stack(stack))
        return self._places[stack]

    def _line_of(self, stack: Stack) -> Hashable:
        site = user_site(stack)
        return None if site is None else self._line(site.file, site.line)

    def _module(self, call: int) -> str:
        if self._ignored.names:
            return ""
        if call not in self._modules:
            found = self._interned.call(call)
            self._modules[call] = "" if found is None else unwrapped(found.path)
        return self._modules[call]
