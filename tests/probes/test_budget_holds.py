"""`--max-overhead` is held in the long run, whatever recording costs; `--max-size` is read as people write sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import gradscope
from gradscope.errors import UsageError
from gradscope.model.limits import Limits
from gradscope.probes.core.overhead_budget import OverheadBudget
from gradscope.torch_internals.dispatch_key import is_on

STEPS = 3000


def run(overhead: float, plain: Callable[[int], float], recorded: Callable[[int], float]) -> tuple[float, list[int]]:
    """A run on a clock of its own. Returns what recording added, as a share, and the steps that were recorded."""
    now = 0.0
    budget = OverheadBudget(overhead, lambda: now)
    kept: list[int] = []
    for step in range(STEPS):
        wanted = budget.wants(step)
        kept += [step] if wanted else []
        now += recorded(step) if wanted else plain(step)
        budget.end(step, wanted)
    usual = sum(map(plain, range(STEPS)))
    return now / usual - 1, kept


@pytest.mark.parametrize("slower", [1.5, 3.0, 12.0])
@pytest.mark.parametrize("overhead", [0.05, 0.2, 1.0])
def test_the_share_is_held(overhead: float, slower: float) -> None:
    added, kept = run(overhead, lambda step: 0.01, lambda step: 0.01 * slower)
    at_first = 4 * (slower - 1) / STEPS  # before anything is known
    assert added <= overhead * 1.05 + at_first
    expected = STEPS * min(1.0, overhead / (slower - 1))
    assert expected * 0.9 <= len(kept) <= expected * 1.1 + 10


def test_steps_of_two_kinds_are_both_recorded() -> None:
    added, kept = run(0.2, lambda step: 0.01 * (1 + step % 2), lambda step: 0.03 * (1 + step % 2))
    assert added < 0.25
    odd = sum(step % 2 for step in kept)
    assert 0.4 < odd / len(kept) < 0.6


def test_a_pause_between_steps_says_nothing_about_recording() -> None:
    pause = lambda step: 5.0 * (step % 100 == 0)  # noqa: E731
    _, kept = run(0.2, lambda step: 0.01 + pause(step), lambda step: 0.03 + pause(step))
    assert STEPS * 0.08 < len(kept) < STEPS * 0.12


def test_nearly_all_steps_are_recorded_when_they_fit() -> None:
    _, kept = run(0.2, lambda step: 0.01, lambda step: 0.011)
    assert len(kept) > STEPS * 0.96


class Timed(OverheadBudget):
    """Steps take 10 ms, and three times that when they are recorded, however busy the machine is."""

    def __init__(self, overhead: float) -> None:
        self._now = 0.0
        super().__init__(overhead, lambda: self._now)

    def end(self, step: int, recorded: bool) -> None:
        self._now += 0.03 if recorded else 0.01
        super().end(step, recorded)


def test_what_is_left_out_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradscope.probes.running.OverheadBudget", Timed)
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(tmp_path / "run.gscope", max_overhead="1%") as recorded:
        for _ in range(60):
            (weight * 2).sum().backward()
    with gradscope.load(tmp_path / "run.gscope") as recording:
        (reason, count), *others = recording.census().dropped.items()
        assert (reason, others) == ("steps to stay within --max-overhead", [])
        steps = [backward.step for backward in recording.backwards()]
        assert steps[:3] == [0, 1, 2]
        assert len(steps) + count == 60
        assert count > 30
        assert [len(recording.graph(number).nodes) for number in steps[:3]] == [3, 3, 3]
    assert recorded.summary is not None
    assert recorded.summary.faults == {}


def test_nothing_of_ours_runs_in_a_step_that_is_not_recorded(tmp_path: Path) -> None:
    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(tmp_path / "run.gscope", steps="2:3"):
        for step in range(5):
            heard = "the first is heard, lest what it compiles be compiled again; the last one until another begins"
            assert is_on() == (step in (0, 2, 3)), heard
            loss = (weight * 2).sum()
            assert bool(loss.grad_fn.metadata) == (step in (2, 3))  # type: ignore[union-attr]
            loss.backward()
    assert not is_on()
    with gradscope.load(tmp_path / "run.gscope") as recording:
        assert [backward.step for backward in recording.backwards()] == [2]


def test_modes_of_the_script_stay_in_their_order(tmp_path: Path) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            self.count += 1
            return func(*args, **(kwargs or {}))

    weight = torch.ones(3, requires_grad=True)
    with gradscope.record(tmp_path / "run.gscope", steps="2:4"):
        for _ in range(2):
            with Counting() as mode:
                for _ in range(3):
                    (weight * 2).sum().backward()
            assert mode.count > 9
    assert torch.utils._python_dispatch._get_current_dispatch_mode_stack() == []


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1MB", 10**6),
        ("500 MB", 5 * 10**8),
        ("1.5GB", 15 * 10**8),
        ("64MiB", 2**26),
        ("2000000", 2 * 10**6),
        ("9m", 9 * 10**6),
    ],
)
def test_sizes_in_words(text: str, size: int) -> None:
    assert Limits.parse(text, None).size == size


@pytest.mark.parametrize(
    ("size", "overhead"),
    [("", None), ("1", None), ("many", None), ("1KB", None), ("-5MB", None), ("5 bytes MB", None),
     (None, "20"), (None, "0%"), (None, "-1%"), (None, "%"), (None, "much")],
)  # fmt: skip
def test_limits_that_cannot_be_are_one_sentence(size: str | None, overhead: str | None, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        gradscope.record(tmp_path / "run.gscope", max_size=size, max_overhead=overhead)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run.gscope").exists()
