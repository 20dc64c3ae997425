"""What a rank sends between its backward calls, each time that it does: what all ranks share tells no times."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.model.rank import Collective
from gradscope.store.collective_reader import read_collectives, read_process_groups, read_runs, user_sites
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording


def sent_outside(recording: Recording) -> Iterator[tuple[int, Collective]]:
    """The collectives that a rank entered outside of backward calls, each with the next one of these."""
    rows, interned = recording.tables.rows, recording.tables.interned
    with damage_is_one_sentence(recording.path):
        runs = read_runs(rows)
        sites = user_sites(rows, interned, (row[5] for row in runs))
        kinds, entered = read_collectives(rows, interned, runs, read_process_groups(rows, interned), sites)
    for one in entered:
        if not kinds[one.kind].inside:
            yield one.backward, kinds[one.kind]
