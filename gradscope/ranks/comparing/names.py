"""Which parameter of one run is which of another: by name, without wrappers; where a model was renamed, by place."""

from __future__ import annotations

from gradscope.ranks.core.keys import unwrapped
from gradscope.store import sequence_reader
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording


def leaves(recording: Recording) -> dict[str, str]:
    """The shapes of a run's leaves by unwrapped name, in the order of its first graphs."""
    interned = recording.tables.interned
    found: dict[str, str] = {}
    with damage_is_one_sentence(recording.path):
        for leaf, kind in sequence_reader.read_leaves(recording.tables.rows):
            shape = "" if not kind else str(list(interned.type(kind).shape))
            found.setdefault(unwrapped(interned.string(leaf)), shape)
    return found


class LeafNames:
    """The second run's names as the first one's."""

    def __init__(self, first: dict[str, str], second: dict[str, str]) -> None:
        missing = [name for name in first if name not in second]
        new = [name for name in second if name not in first]
        # Only where all that are left agree in shape and order: else a layer that was put in shifts them.
        alike = [first[name] for name in missing] == [second[name] for name in new]
        self._partner = dict(zip(new, missing, strict=True)) if alike else {}

    @property
    def renamed(self) -> dict[str, str]:
        """The names that only the second run has, with those of the first."""
        return self._partner

    def first(self, name: str) -> str:
        """A leaf of the first run."""
        return unwrapped(name)

    def second(self, name: str) -> str:
        """A leaf of the second run, by the first one's name."""
        plain = unwrapped(name)
        return self._partner.get(plain, plain)
