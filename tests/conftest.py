"""What all tests share."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.capture.side_by_side import SideBySide
from tests.processes import end_all

# Before torch is imported, here and in all processes that tests start: the threads of tiny tensors mostly wait for each
# other where there are few cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

with contextlib.suppress(ImportError):  # the frameworks' environment has none
    from hypothesis import HealthCheck, settings

    patient = {"deadline": None, "suppress_health_check": (HealthCheck.too_slow,)}
    settings.register_profile("fixed", derandomize=True, database=None, **patient)  # the same examples everywhere
    settings.register_profile("random", **patient)  # pytest --hypothesis-profile=random
    settings.load_profile("fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="Rewrite golden files; review the diff.")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of that name beside the test, or bless it."""
    folder = Path(request.path).parent / "golden"

    def compare(name: str, text: str) -> None:
        path = folder / name
        if request.config.getoption("--bless"):
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{name} differs; if rightly so, run pytest --bless"

    return compare


@pytest.fixture(scope="session")
def side_by_side(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SideBySide]:
    """Forks programs from one process that has imported torch: for all tests whose programs need no new Python."""
    with SideBySide(tmp_path_factory.mktemp("side_by_side"), "tests.capture.all_heard") as runs:
        yield runs


@pytest.fixture(autouse=True)
def no_process_outlives_its_test() -> Iterator[None]:
    yield
    end_all()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """What a failed test leaves open is closed before the next one: its warnings, errors here, would fail that one."""
    failed = item.session.testsfailed
    done = yield
    if item.session.testsfailed > failed:
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.collect()
    return done
