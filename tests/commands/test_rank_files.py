"""Which recordings `gradscope ranks` reads: those of the ranks, also where it is given what started them."""

import os

import pytest

from gradscope.commands.options import chosen_recording
from gradscope.commands.ranks import of_ranks, paths_of
from gradscope.errors import UnreadableError, UsageError
from gradscope.store.reader import newest

RANKS = [f"main.r0000{rank}-of-00002.{100 + rank}.gscope" for rank in range(2)]


@pytest.fixture
def folder(tmp_path):
    """A launcher's recording beside those of two of its launches."""
    (tmp_path / "run.gscope").touch()
    for launch in ("run.12", "run.13"):
        (tmp_path / launch).mkdir()
        for name in RANKS:
            (tmp_path / launch / name).touch()
    return tmp_path


def read(*paths):
    return of_ranks(paths_of(tuple(map(str, paths))))


@pytest.mark.parametrize("given", [".", "run.gscope"])
def test_the_ranks_of_the_newest_launch_are_read(folder, given):
    os.utime(folder / "run.12", (0, 0))
    assert read(folder / given) == [folder / "run.13" / name for name in RANKS]


def test_files_of_ranks_are_read_as_they_are(folder):
    assert read(folder / "run.12") == [folder / "run.12" / name for name in RANKS]


def test_recordings_that_started_nothing_are_the_ranks(tmp_path):
    for name in ("first.gscope", "second.gscope"):
        (tmp_path / name).touch()
    assert read(tmp_path) == [tmp_path / "first.gscope", tmp_path / "second.gscope"]


def test_a_rank_of_the_newest_launch_is_found_beside_what_started_it(folder):
    os.utime(folder / "run.12", (0, 0))
    assert newest(folder, 1) == folder / "run.13" / RANKS[1]


def test_a_rank_in_the_folder_itself_comes_first(folder):
    (folder / RANKS[1]).touch()
    assert newest(folder, 1) == folder / RANKS[1]


def test_folders_of_nothing_that_is_there_are_left_alone(folder):
    (folder / "run.gscope").unlink()
    with pytest.raises(UnreadableError, match="of rank 1"):
        newest(folder, 1)


def test_a_rank_is_found_of_the_recording_of_what_started_it(folder):
    os.utime(folder / "run.12", (0, 0))
    assert chosen_recording(str(folder / "run.gscope"), 0) == folder / "run.13" / RANKS[0]


def test_a_recording_that_started_no_such_rank_is_refused(folder):
    with pytest.raises(UsageError, match="chooses from a folder"):
        chosen_recording(str(folder / "run.gscope"), 2)
