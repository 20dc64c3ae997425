"""SVG, laid out by Graphviz's `dot` program, which runs as a child with a time limit."""

from __future__ import annotations

import shutil
import subprocess

from gradscope.errors import UsageError
from gradscope.render.dot import DIRECTION, write
from gradscope.view.draw import draw
from gradscope.view.drawing import Drawing
from gradscope.view.scene import Scene

PATIENCE = 20  # seconds
INSTALL = "install it (`apt-get install graphviz`, `brew install graphviz`); --fmt text, json and dot need nothing"


def render(scene: Scene) -> str:
    """The scene as SVG."""
    return picture(draw(scene))


def picture(drawing: Drawing, direction: str = DIRECTION) -> str:
    """A drawing as SVG; `direction` says what its arrows mean."""
    program = find_dot()
    try:
        return _run([program, "-Tsvg"], write(drawing, direction))
    except subprocess.TimeoutExpired as error:
        boxes = f"`dot` laid out {len(drawing.boxes)} boxes for {PATIENCE} s and was not done"
        raise UsageError(boxes, "close more groups with --depth, or use --fmt text") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise UsageError(f"`dot` failed: {error}", "use --fmt text, or --fmt dot and another Graphviz") from error


def find_dot() -> str:
    """Graphviz's `dot`, if it is there and starts."""
    program = shutil.which("dot")
    if program is None:
        raise UsageError("--fmt svg needs Graphviz's `dot`, which is not installed", INSTALL)
    try:
        _run([program, "-V"], "")
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"--fmt svg needs Graphviz's `dot`, which does not start: {error}", INSTALL) from error
    return program


def _run(command: list[str], text: str) -> str:
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=True, timeout=PATIENCE)
    return done.stdout
