"""How a rank's gradients are averaged with those of others: by DistributedDataParallel, or by hand."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Site, Stack

GroupKey = tuple[str, tuple[int, ...]]  # a process group's name and ranks


@dataclass(frozen=True, slots=True)
class ByHand:
    """A leaf whose gradient the program itself had reduced in a group, and the line."""

    leaf: str
    group: GroupKey
    site: Site | None


@dataclass(frozen=True, slots=True)
class Averaging:
    """`leaves` are those on which the hooks of DistributedDataParallel hang, which was made at `wrapped`; `ignores`:
    it was told to leave others alone. `groups` are those in which something was reduced inside a backward call.
    `past`: those of `leaves` whose wrapper was never called, where another one was. `bypassed` is where a module was
    called in the place of its wrapper, None where each wrapper was called as well, under the stack `way_past`, where
    no line of it asks for the module inside; `unsynchronised` where
    no_sync() was entered, where something was reduced by the wrapper: before a backward that a step followed.
    `in_hooks`: leaves whose gradients the program itself had reduced in hooks on them, where no wrapper is.
    `replaced` is where load_state_dict(assign=True) put parameters in the place of those that a wrapper hooked, after
    it was made; `derived` where torch.autograd.grad() took derivatives, where no backward() ever ran and the ranks
    gave each other less from then on than their parameters.
    """

    leaves: frozenset[str] = frozenset()
    ignores: bool = False
    wrapped: Site | None = None
    groups: frozenset[GroupKey] = frozenset()
    by_hand: tuple[ByHand, ...] = ()
    in_hooks: tuple[ByHand, ...] = ()
    past: frozenset[str] = frozenset()
    bypassed: Site | None = None
    way_past: Stack = ()
    unsynchronised: Site | None = None
    replaced: Site | None = None
    derived: Site | None = None

    @property
    def group(self) -> GroupKey | None:
        """The group in which the wrapper averages; None where there are several, since leaves may have one each."""
        return next(iter(self.groups)) if len(self.groups) == 1 else None

    @property
    def is_wrapped(self) -> bool:
        """Whether a wrapper has hooks on what is trained, or had them before it was replaced."""
        return bool(self.leaves) or self.replaced is not None
