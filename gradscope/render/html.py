"""The page: one HTML file that works offline. Nothing that comes from a recording can act in it as markup or program.

The surprise: a Content-Security-Policy in the file itself allows just its own program and style, by their hashes, and
no connection to anywhere. Program and data are packed, which makes the file a third of its size.
"""

from __future__ import annotations

import base64
import gzip
import json
from html import escape

from gradscope.model.printable import printable
from gradscope.render.page_parts import asset, policy
from gradscope.view.page import contents
from gradscope.view.scene import Scene
from gradscope.view.story import Story, story_of
from gradscope.view.title import title

# in the order in which they build on each other
SCRIPTS = (
    *("data.js", "tree.js", "layout.js", "routes.js", "paint.js", "canvas.js", "elements.js", "measures.js", "ways.js"),
    *("overview.js", "timeline.js", "steps.js", "card.js", "details.js"),
    *("outline.js", "lists.js", "gradients.js", "compare.js", "search.js", "player.js", "main.js"),
)
LOADER, STYLE, BODY = "loader.js", "page.css", "page.html"


def render(scene: Scene) -> str:
    """The page of a scene, which knows one graph and nothing else."""
    return page(story_of(scene))


def page(story: Story) -> str:
    """The page of a story."""
    loader, style, program = asset(LOADER), asset(STYLE), whole_program()
    heading = escape(printable(title(story.scene)))
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy((loader, program), style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<title>{heading}</title>\n<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>\n'
        f"{asset(BODY)}"
        f'<script type="text/plain" id="data">{packed(data(story))}</script>\n'
        f'<script type="text/plain" id="program">{packed(program)}</script>\n'
        f"<script>{loader}</script>\n</body>\n</html>\n"
    )


def whole_program() -> str:
    """The page's program: its files in one scope of their own."""
    return f'"use strict";\n(() => {{\n{"".join(map(asset, SCRIPTS))}}})();\n'


def data(story: Story) -> str:
    """What the program reads, as JSON."""
    return json.dumps(contents(story), separators=(",", ":"), allow_nan=False)


def packed(text: str) -> str:
    """Compressed, and in letters that mean nothing to HTML."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")
