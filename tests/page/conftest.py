"""The page's tests need a browser: they skip, and say so, where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="THE PAGE IS NOT TESTED: playwright is not installed")

from playwright.sync_api import Browser  # noqa: E402

from tests.page.browser import PROGRAM, Opener, started  # noqa: E402


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("THE PAGE IS NOT TESTED: the browser `chromium` is not installed (sh tests/setup-system.sh)")
    with started() as found:
        yield found


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens pages; in the end nothing may have complained, and nothing may have been asked of any network."""
    opener = Opener(browser, tmp_path)
    yield opener
    for context in browser.contexts:
        context.close()
    assert opener.complaints == []
    assert {url.partition(":")[0] for url in opener.requests} <= {"file", "data", "blob"}
