"""The page of a real run: everything that was recorded of it stands in its tabs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gradscope
from gradscope.commands.pages import gather
from gradscope.measures.hooks import timeline
from gradscope.view.story import Story
from tests.page.browser import Opener, boxes
from tests.torch_versions import needs_saved_tensors

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """A sample script, recorded in full detail."""
    path = tmp_path_factory.mktemp("page") / "hooks.gscope"
    script = ROOT / "sample_scripts" / "hooks.py"
    command = [sys.executable, "-W", "ignore", "-m", "gradscope", "trace", "-q", "--detail", "full", "-o", path, script]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    with gradscope.load(path) as recording:
        return gather(recording, None, 8, source=True)


@needs_saved_tensors
def test_its_tabs(opened: Opener, story: Story) -> None:
    page = opened(story, "#tab=hooks")
    fired = sum(event.firing is not None for event in timeline(story.scene.graph))
    assert f"{fired} firings, in order" in page.locator("#panel").inner_text()
    assert page.locator("#panel .here", has_text="register_prehook").count() >= 1
    page.click("#tab-gradients")
    assert page.locator("#panel svg.plot").is_visible()
    assert page.locator("#panel svg.spark").count() >= 1
    page.click("#tab-memory")
    assert "saved for the backward" in page.locator("#panel").inner_text()
    page.click("#tab-compare")
    assert "Gradients, the greatest change first" in page.locator("#panel").inner_text()


def test_its_nodes(opened: Opener, story: Story) -> None:
    page = opened(story)
    assert "MseLossBackward0" in {box["title"] for box in boxes(page)}
    for node in story.scene.graph.nodes:
        page.evaluate(f"gradscope.select({node.id})")
        assert page.locator("#panel h2").inner_text() == node.name.rpartition("::")[2]
    page.evaluate("gradscope.select(0)")
    words = page.locator("#panel").inner_text()
    for part in ("#0 of", "(measured)", "before_node", "aten.mse_loss_backward.default", "hooks.py:70 in main"):
        assert part in words
