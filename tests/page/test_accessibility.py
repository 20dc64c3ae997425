"""What axe-core, the auditor that other projects use, finds on the page: nothing, in no tab, width or theme."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from tests.page.browser import Opener
from tests.page.stories import several, with_finding

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 800}


def violations(page: Page) -> list[str]:
    """What axe-core is sure of, a line for each element; what it cannot decide (words on a canvas) has other tests."""
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:120]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def audited(page: Page) -> Page:
    """The page with axe-core in it; the browser puts it there, past the page's own policy."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("window", [WIDE, NARROW], ids=["wide", "narrow"])
def test_axe_finds_nothing_in_any_tab(opened: Opener, scheme: str, window: dict[str, int]) -> None:
    page = audited(opened(several(), color_scheme=scheme, viewport=window))
    page.evaluate("gradscope.select(3)")
    for tab in page.locator("[role=tab]").all():
        tab.click()
        assert violations(page) == []


def test_axe_finds_nothing_where_there_are_findings(opened: Opener) -> None:
    page = audited(opened(with_finding()))
    page.click("#tab-findings")
    assert violations(page) == []


def test_axe_finds_nothing_in_the_list_of_keys(opened: Opener) -> None:
    page = audited(opened(several()))
    page.click("#tool-\\?")
    assert page.locator("#help").is_visible()
    assert violations(page) == []
