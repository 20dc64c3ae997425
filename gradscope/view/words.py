"""Numbers, places and names as people read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

from gradscope.model.graph import ACCUMULATE, Node
from gradscope.model.site import Site

MOST_KINDS = 12
LONGEST_MESSAGE = 120
PACKAGES = ("site-packages", "dist-packages")  # the folders that installers fill
ROLE_WORDS = {"masked_by": "hidden by"}  # those that the key itself does not say
TIMES = "\N{MULTIPLICATION SIGN}"


def short_name(node: Node) -> str:
    """The node's name without C++ namespaces."""
    return node.short_name


def is_plain(node: Node) -> bool:
    """Whether nothing about a node would be missed if it were shown as one of several."""
    return (
        not node.hooks
        and not node.raised
        and node.function is None
        and (node.leaf is None or short_name(node) == ACCUMULATE)
    )


def kinds(nodes: Iterable[Node]) -> str:
    """`ViewBackward0 x4 -> MulBackward0`: the kinds of node in order of appearance, each once."""
    counts = Counter([node.short_name for node in nodes])
    words = [name if count == 1 else f"{name} {TIMES}{count}" for name, count in counts.items()]
    more = [f"{len(words) - MOST_KINDS} more kinds"] if len(words) > MOST_KINDS else []
    return " → ".join(words[:MOST_KINDS] + more)


def size(count: int) -> str:
    """A number of bytes: 128 B, 26 kB, 7.8 MB."""
    if count < 1000:
        return f"{count} B"
    value, units = count / 1000, ["kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        del units[0]
    return f"{value:.1f} {units[0]}" if value < 9.95 else f"{value:.0f} {units[0]}"


def amount(count: int, noun: str) -> str:
    """`1 node`, `2 nodes`, `1,650 nodes`, `3 boxes`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{'es' if noun.endswith('x') else 's'}"


def seconds(value: float) -> str:
    """A duration: 310 us, 12 ms, 3.4 s, 12 min."""
    if value < 0.001:
        return f"{value * 1e6:.0f} us"
    if value < 1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.3g} s" if value < 600 else f"{value / 60:.0f} min"


def role_words(role: str) -> str:
    """What a related place is to a finding, as people read it: `saved at`, `hidden by`."""
    return ROLE_WORDS.get(role, role.replace("_", " "))


def first_line(text: str | None) -> str:
    """The beginning of what an exception says, `Type: message`."""
    line = text.splitlines()[0].rstrip(": ") if text else ""
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"


def beginning(text: str, most: int = 36) -> str:
    """The first words of a sentence, as many as a box has room for."""
    shown = text.partition("; ")[0]
    return shown if len(shown) <= most else shown[: most - 1].rpartition(" ")[0] + "…"


def leaf_words(leaf: str) -> str:
    """A leaf's name as people read it; "leaf" is what the recorder calls one whose name it did not find."""
    return "unnamed leaf" if leaf == "leaf" else leaf


def place(site: Site, folder: str) -> str:
    """`train.py:19`."""
    return f"{short_file(site.file, folder)}:{site.line}"


def short_file(file: str, folder: str) -> str:
    """`torch/nn/functional.py` of an installed package; else relative to the folder, or outside of it the name."""
    path = PurePath(file)
    for number, part in enumerate(reversed(path.parts)):
        if part in PACKAGES and number:
            return str(PurePath(*path.parts[-number:]))
    inside = path.is_relative_to(folder) if folder else False
    return str(path.relative_to(folder)) if inside else path.name
