"""PNG, which a Graphviz program draws: there is no way to pixels without one."""

from __future__ import annotations

from gradscope.errors import UsageError
from gradscope.render import engines
from gradscope.render.dot import write
from gradscope.render.programs import NAMES, EngineFailed, run
from gradscope.view.drawing import Drawing
from gradscope.view.style import Style
from gradscope.view.words import amount

LARGEST = 16_000  # pixels of a side: above 32,767 dot shrinks a picture until nothing can be read
DOTS = 144.0  # an inch: twice what screens took once
HELP = (
    "install Graphviz (`apt-get install graphviz`, `brew install graphviz`), or `pip install 'gradscope-cli[png]'`; "
    "--fmt svg and --fmt html need neither"
)


def picture(drawing: Drawing, style: Style) -> bytes:
    """A drawing as PNG. Raises UsageError when there is no engine, or none can draw it."""
    if style.engine == "builtin":
        raise UsageError("the built-in engine draws no png", HELP)
    failed: list[str] = []
    for engine, program in engines.programs(style):
        try:
            found = _draw(program, drawing, style)
        except EngineFailed as error:
            engines.refuse(style, engine, error)
            failed.append(f"{NAMES[engine]} {error}")
            continue
        engines.tell(style, NAMES[engine], drawing)
        return found
    if failed:
        hint = "close groups with --depth, or use --fmt svg or html"
        raise UsageError(f"{amount(len(drawing.boxes), 'box')} became no png: {'; '.join(failed)}", hint)
    raise UsageError("no engine here draws a png", HELP)


def _draw(program: str, drawing: Drawing, style: Style) -> bytes:
    """In fewer dots an inch when it would be too large, which is said."""
    text = write(drawing, style)
    found = run(program, ["-Tpng", f"-Gdpi={DOTS:.0f}"], text)
    side = max(sides(found))
    if side <= LARGEST:
        return found
    dots = DOTS * LARGEST / side if side < 32_000 else 24.0
    style.say(f"the picture is large: {dots:.0f} dots an inch instead of {DOTS:.0f}; --depth closes groups")
    return run(program, ["-Tpng", f"-Gdpi={dots:.0f}"], text)


def sides(png: bytes) -> tuple[int, int]:
    """Width and height, which stand at the beginning of every PNG."""
    if png[:8] != b"\x89PNG\r\n\x1a\n" or len(png) < 24:
        raise EngineFailed("wrote something that is no png")
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
