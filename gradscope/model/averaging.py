"""How a rank's gradients are averaged with those of others: by DistributedDataParallel, or by hand."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.model.site import Site

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
    called in the place of its wrapper, None where each wrapper was called as well; `unsynchronised` where
    no_sync() was entered, where something was reduced by the wrapper: before a backward that a step followed.
    """

    leaves: frozenset[str] = frozenset()
    ignores: bool = False
    wrapped: Site | None = None
    groups: frozenset[GroupKey] = frozenset()
    by_hand: tuple[ByHand, ...] = ()
    past: frozenset[str] = frozenset()
    bypassed: Site | None = None
    unsynchronised: Site | None = None

    @property
    def group(self) -> GroupKey | None:
        """The group in which the wrapper averages; None where there are several, since leaves may have one each."""
        return next(iter(self.groups)) if len(self.groups) == 1 else None
