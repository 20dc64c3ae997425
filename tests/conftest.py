"""What all tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


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
