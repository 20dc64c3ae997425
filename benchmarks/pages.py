"""What a page weighs, how soon it answers and how it moves, in headless Chromium: the least of several loads.

`python benchmarks/pages.py` builds pages of graphs of growing size and prints the tables.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pictures import INNER_STEPS, LAYERS, inner_loop  # noqa: E402
from playwright.sync_api import Browser, Page  # noqa: E402
from workloads import gpt  # noqa: E402

import gradscope  # noqa: E402
from gradscope.commands.pages import gather  # noqa: E402
from gradscope.model.graph import Graph  # noqa: E402
from gradscope.render import html  # noqa: E402
from gradscope.view.story import Story, story_of  # noqa: E402
from tests import by_hand  # noqa: E402
from tests.page.browser import WINDOW, started  # noqa: E402
from tests.page.stories import modules  # noqa: E402

# Milliseconds between two frames while the wheel turns: the median, and what one in twenty exceeds.
PAN = """async () => {
  const canvas = document.querySelector("canvas"), gaps = [];
  for (let turn = 0, last = null; turn < 120; turn++) {
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaX: turn % 2 ? 9 : -3, deltaY: 25, cancelable: true }));
    const now = await new Promise(requestAnimationFrame);
    if (last !== null) gaps.push(now - last);
    last = now;
  }
  gaps.sort((one, other) => one - other);
  return [gaps[Math.floor(gaps.length / 2)], gaps[Math.floor(gaps.length * 0.95)]];
}"""


def recorded(step: Callable[[], None], steps: int, detail: str, path: Path) -> Story:
    """Recorded steps, without sources."""
    with gradscope.record(path, detail=detail):
        for _ in range(steps):
            step()
    with gradscope.load(path) as recording:
        return gather(recording, None, 8, False)


def stories(folder: Path) -> Iterator[tuple[str, Story, str]]:
    """What is measured: its name, its story, and how soon it should answer."""
    name = f"GPT of {LAYERS} layers"
    yield name, recorded(gpt(LAYERS)[2], 1, "ops", folder / "ops.gscope"), "0.3 s"
    yield f"{name}, --detail full", recorded(gpt(LAYERS)[2], 1, "full", folder / "full.gscope"), "0.3 s"
    yield f"{name}, 9 backward calls", recorded(gpt(LAYERS)[2], 9, "ops", folder / "nine.gscope"), "0.3 s"
    yield f"MAML of {INNER_STEPS} inner steps", recorded(inner_loop(), 1, "ops", folder / "maml.gscope"), "0.3 s"
    for name, graph, aim in (
        ("GPT-like", by_hand.transformer(25), "0.3 s"),
        ("modules of 100 nodes", modules(16, 100), "0.3 s"),
        ("GPT-like", by_hand.transformer(153), "0.5 s"),
        ("a chain without modules", by_hand.chain(10_000), "0.5 s"),
        ("GPT-like", by_hand.transformer(1535), "2 s"),
        ("a chain without modules", by_hand.chain(100_000), "2 s"),
    ):
        yield name, story_of(by_hand.scene(graph)), aim


def answer(browser: Browser, path: Path) -> tuple[float, Page]:
    """Seconds from the start of the navigation until the page has drawn itself, and the page."""
    page = browser.new_context(viewport=WINDOW, reduced_motion="reduce").new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    return page.evaluate("performance.getEntriesByName('ready')[0].startTime") / 1000, page


def opening(page: Page) -> tuple[int, float]:
    """The largest closed group that shows, of at most 1000 children: their number, and seconds to open and draw it."""
    children, seconds = page.evaluate(
        """(() => {
          const groups = gradscope.groups().sort((one, other) => other.children - one.children);
          if (!groups.length) return [0, 0];
          const started = performance.now();
          gradscope.toggle(groups[0].item);
          gradscope.paint();
          return [groups[0].children, (performance.now() - started) / 1000];
        })()"""
    )
    return children, seconds


def measure(browser: Browser, story: Story, path: Path, rounds: int) -> tuple[str, ...]:
    """The cells of a row: bytes, seconds to write, seconds to answer, children of a group and seconds to open it."""
    began = time.perf_counter()
    path.write_text(html.page(story), encoding="utf-8")
    writing = time.perf_counter() - began
    answers, openings, children = [], [], 0
    for _ in range(rounds):
        seconds, page = answer(browser, path)
        children, took = opening(page)
        answers.append(seconds)
        openings.append(took)
        page.context.close()
    size = path.stat().st_size / 1000
    return (
        f"{size:,.0f} kB",
        f"{writing:.2f} s",
        f"{min(answers):.2f} s",
        f"{children}",
        f"{min(openings) * 1000:.0f} ms",
    )


def moving(browser: Browser, name: str, graph: Graph, path: Path) -> Iterator[tuple[str, ...]]:
    """Rows of a page with all groups open: boxes, seconds to open the last level, how far, frames a second."""
    path.write_text(html.page(story_of(by_hand.scene(graph))), encoding="utf-8")
    page = answer(browser, path)[1]
    boxes, took = 0, 0.0
    while (now := len(page.evaluate("gradscope.boxes()"))) > boxes:
        boxes = now
        began = "const began = performance.now(); gradscope.expand(); gradscope.paint()"
        took = max(took, page.evaluate(f"(() => {{ {began}; return performance.now() - began; }})()"))
    for distance, go in (("near", "0"), ("all in the window", "gradscope.fit()")):
        page.evaluate(go)
        median, slow = page.evaluate(PAN)
        yield name, f"{boxes:,}", f"{took:.0f} ms", distance, f"{1000 / median:.0f}", f"{1000 / slow:.0f}"
    page.context.close()


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    rounds = options.parse_args().rounds
    heads = ("graph", "nodes", "aim", "page", "written in", "answers in", "opens a group of", "in")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    with started() as browser, tempfile.TemporaryDirectory() as folder:
        for name, story, aim in stories(Path(folder)):
            nodes = f"{len(story.scene.graph.nodes):,}"
            cells = measure(browser, story, Path(folder) / "page.html", rounds)
            print("|", " | ".join((name, nodes, aim, *cells)), "|", flush=True)
        heads = (
            "graph, all open",
            "boxes",
            "slowest level opens in",
            "seen",
            "frames a second",
            "and one in twenty",
        )
        print(f"\n| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
        for name, graph in (("GPT-like", by_hand.transformer(230)), ("a chain", by_hand.chain(10_000))):
            for row in moving(browser, name, graph, Path(folder) / "page.html"):
                print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
