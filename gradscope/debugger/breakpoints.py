"""Where to stop: before nodes with a name, before nodes that a line made, or before a gradient that is not finite."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from gradscope.model.graph import Node

NAN = "nan"


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """One place to stop at, as the user wrote it."""

    text: str

    @property
    def wants_values(self) -> bool:
        """Whether the gradients themselves decide."""
        return self.text.lower() == NAN

    def matches(self, node: Node) -> bool:
        """Whether it names this node: by its id, its name or a pattern, its parameter, or FILE:LINE of its forward."""
        short = node.short_name
        names = (str(node.id), node.name, short, short.rstrip("0123456789"), node.leaf or "")
        return any(fnmatchcase(name, self.text) for name in names if name) or self._is_at(node)

    def _is_at(self, node: Node) -> bool:
        file, colon, line = self.text.rpartition(":")
        if not colon or not line.isdecimal() or node.site is None or node.site.line != int(line):
            return False
        parts = PurePath(file).parts
        return PurePath(node.site.file).parts[-len(parts) :] == parts
