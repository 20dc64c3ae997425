"""Module calls: a node belongs to a call, not to a module, because modules are reused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, unsafe_hash=True)  # not frozen: frozen ones take four times as long to make
class ModuleCall:
    """One call of one module.

    `path` is the qualified name under the outermost module that was called ("" for that one itself),
    `position` the place of this call among the calls made by `parent`, from 0, `ordinal` the number of this
    call among those of the same module in the same graph, from 1, and `ordinals` how many there were.
    """

    path: str
    module_class: str
    parent: ModuleCall | None = None
    position: int = 0
    ordinal: int = 1
    ordinals: int = 1

    @property
    def label(self) -> str:
        """`encoder.relu`, or `encoder.relu(2)` when the module is called more than once."""
        name = self.path or self.module_class
        return f"{name}({self.ordinal})" if self.ordinals > 1 else name

    @property
    def words(self) -> str:
        """The same for people: `encoder.relu, call 2`."""
        name = self.path or self.module_class
        return f"{name}, call {self.ordinal}" if self.ordinals > 1 else name

    @property
    def outermost(self) -> ModuleCall:
        """The call around it that none is around."""
        call = self
        while call.parent is not None:
            call = call.parent
        return call

    @property
    def chain(self) -> tuple[ModuleCall, ...]:
        """This call and those around it, outermost first."""
        calls = [self]
        call = self.parent
        while call is not None:
            calls.append(call)
            call = call.parent
        calls.reverse()
        return tuple(calls)
