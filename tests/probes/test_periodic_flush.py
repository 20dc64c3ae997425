"""The heartbeat beats beside the program, is not there while it forks, and never speaks."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from gradscope.probes.core.periodic_flush import PeriodicFlush, _before_fork, _in_parent
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.operators import recorder
from gradscope.probes.operators.blocks import HEAD, WRITE
from tests.probes.against import recording

PERIOD = 0.001


def silent(probe: str, message: str) -> None:
    raise AssertionError(message)


class Beats:
    """Counts beats, and waits for them."""

    def __init__(self) -> None:
        self.counted = threading.Semaphore(0)
        self.native = 0

    def __call__(self) -> None:
        self.native = threading.get_native_id()
        self.counted.release()

    def wait(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.counted.acquire(timeout=60)


@pytest.fixture
def beats() -> Iterator[Beats]:
    beats = Beats()
    with PeriodicFlush(beats, silent, PERIOD):
        yield beats


def lives(native: int) -> bool:
    return Path(f"/proc/self/task/{native}").exists()


def test_it_beats_in_a_thread_that_is_not_seen() -> None:
    seen, beats = threading.enumerate(), Beats()
    with PeriodicFlush(beats, silent, PERIOD):
        beats.wait(3)
        assert threading.enumerate() == seen
        assert lives(beats.native)


def test_it_is_gone_before_the_process_forks_and_back_afterwards(beats: Beats) -> None:
    beats.wait()
    first = beats.native
    _before_fork()
    assert not lives(first)
    while beats.counted.acquire(blocking=False):
        pass
    _in_parent()
    beats.wait()
    assert beats.native != first


def test_a_child_has_none() -> None:
    with PeriodicFlush(Beats(), silent, PERIOD):
        child = os.fork()
        if not child:
            os._exit(PeriodicFlush.running is not None or threading.active_count() != 1)
        assert os.waitpid(child, 0)[1] == 0


def test_it_ends_with_the_recording() -> None:
    beats = Beats()
    with PeriodicFlush(beats, silent, PERIOD):
        beats.wait()
    assert not lives(beats.native)
    assert PeriodicFlush.running is None


def test_a_beat_that_fails_is_noted_and_the_next_one_comes() -> None:
    noted: list[tuple[str, str]] = []
    again = threading.Semaphore(0)

    def beat() -> None:
        again.release()
        raise ValueError("no")

    with PeriodicFlush(beat, lambda *fault: noted.append(fault), PERIOD):
        for _ in range(2):
            assert again.acquire(timeout=60)
    assert noted[0] == ("heartbeat", "ValueError: no")


def test_a_beat_in_the_middle_of_an_operator_sees_whole_operators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbered, looks = recorder.numbered, list[list[int]]()

    def looking(thread: Thread, tensor: torch.Tensor) -> tuple[int, int]:
        looks.append(thread.operations[:])
        return numbered(thread, tensor)

    monkeypatch.setattr(recorder, "numbered", looking)
    with recording(tmp_path):
        torch._foreach_add_([torch.ones(2), torch.ones(3)], 1)
        torch.ones(2).mul_(2)
    assert len(looks) >= 3
    for numbers in looks:
        at = 0
        while at < len(numbers):
            at += HEAD + WRITE * numbers[at + HEAD - 1]
        assert at == len(numbers)
