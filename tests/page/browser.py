"""Opens pages in headless Chromium: the system's own, driven by playwright. A page that complains fails its test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from gradscope.model.graph import Graph
from gradscope.render import html
from gradscope.view.story import Story, story_of
from tests import by_hand

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE = 100_000  # milliseconds for what takes a few, where many programs share few cores
WINDOW = {"width": 1280, "height": 800}
Opened = Callable[..., Page]


@contextmanager
def started() -> Iterator[Browser]:
    """A browser. Root has no sandbox to offer."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        expect.set_options(timeout=PATIENCE)
        with playwright.chromium.launch(executable_path=PROGRAM, args=arguments, timeout=PATIENCE) as browser:
            yield browser


@dataclass
class Opener:
    """Opens pages of graphs and stories, and listens to what they complain of and ask for."""

    browser: Browser
    folder: Path
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __call__(self, what: Graph | Story, link: str = "", **about: Any) -> Page:
        """A page, ready."""
        story = story_of(by_hand.scene(what)) if isinstance(what, Graph) else what
        path = self.folder / "page.html"
        path.write_text(html.page(story), encoding="utf-8")
        context = self.browser.new_context(**{"viewport": WINDOW, "reduced_motion": "reduce", **about})
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri() + link)
        page.wait_for_selector("html[data-ready]")
        return page


def boxes(page: Page) -> list[dict[str, Any]]:
    """What is on the sheet."""
    return list(page.evaluate("gradscope.boxes()"))


def titles(page: Page) -> list[str]:
    """The titles of the boxes that are no frames of open groups."""
    return sorted(box["title"] for box in boxes(page) if not box["open"])


def click_on(page: Page, title: str, double: bool = False) -> None:
    """Click into the first box of that title, away from its corner."""
    item = next(box["item"] for box in boxes(page) if box["title"] == title)
    place = page.evaluate(f"gradscope.onScreen({item})")
    frame = page.locator("#graph").bounding_box()
    assert frame is not None
    at = (frame["x"] + place["x"] + place["w"] / 2, frame["y"] + place["y"] + 12)
    (page.mouse.dblclick if double else page.mouse.click)(*at)
