"""What a process that is recorded asks of its children: where they are recorded, and which of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

_MULTIPROCESSING = "from multiprocessing."  # how it begins what its workers, and the server that forks them, run
OF_PARENTS = ("multiprocessing and ranks", "all", "none")


@dataclass(frozen=True, slots=True)
class Family:
    """The processes of one traced program.

    `settings` are the options of `gradscope trace`; `folder` is where the children's recordings go, and `title` what
    those are called that run the program's own functions. `which`: one of `OF_PARENTS`. `in_rank`: whether who asks is
    a rank itself, so that a rank's number in the environment is no news. `unrecorded`: the file in which others
    leave a mark when they run a backward.
    """

    folder: str
    title: str
    settings: dict[str, Any]
    unrecorded: str
    which: str = OF_PARENTS[0]
    in_rank: bool = False

    @property
    def text(self) -> str:
        """It as a variable of the environment: never taken for a path."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Family | None:
        """Read it; None when it is none, or another version's."""
        try:
            found = cls(**json.loads(text))
        except (ValueError, TypeError):
            return None
        return found if isinstance(found.settings, dict) and found.which in OF_PARENTS else None

    def of(self, environment: Mapping[str, str]) -> Family:
        """The family as a process with this environment hands it on."""
        return replace(self, in_rank=is_rank(environment))

    def is_worker(self, typed: Sequence[str]) -> bool:
        """Whether a process with this command line runs the program's own functions."""
        return any(one.startswith(_MULTIPROCESSING) for one in typed)

    def made_rank(self, environment: Mapping[str, str]) -> bool:
        """Whether a process with this environment became a rank when it was started."""
        return is_rank(environment) and not self.in_rank

    def has(self, typed: Sequence[str], environment: Mapping[str, str]) -> bool:
        """Whether a process is to be recorded."""
        if self.which != OF_PARENTS[0]:
            return self.which == OF_PARENTS[1]
        return self.is_worker(typed) or self.made_rank(environment)


def is_rank(environment: Mapping[str, str]) -> bool:
    """Whether a launcher says that this process is a rank; some give its number on this machine only."""
    known = [name for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE") if environment.get(name, "").isdigit()]
    return "WORLD_SIZE" in known and len(known) > 1
