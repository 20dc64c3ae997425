"""Recordings for programs and notebooks: what the reading commands answer, as objects."""

from __future__ import annotations

import os

from gradscope.anomaly import explain
from gradscope.model.finding import Finding
from gradscope.store import reader


class Recording(reader.Recording):
    """An open recording that also says what went wrong in it."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the run, the most likely cause first."""
        return explain(self).findings


def load(path: str | os.PathLike[str] | None = None) -> Recording:
    """Open a recording; without a path, the newest in $GRADSCOPE_DIR or the working directory."""
    return Recording(reader.open_recording(path))
