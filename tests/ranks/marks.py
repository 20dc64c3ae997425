"""The marks of the programs of ranks: which finding a script expects of which program, and on which line.

A mark outside of the program names it, or several: "# expect: GS792 in two_rates, rates".
"""

import re

WAITING = frozenset({"GS790", "GS791"})  # the kinds in whose programs a rank may wait in vain


def programs(script):
    """By the name of a program: the code that must be found, and its line, None where the mark names no line."""
    found, elsewhere = {}, {}
    name = None
    for number, line in enumerate(script.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("def "):
            head = re.match(r"def (\w+)\(rank\):", line)
            name = head[1] if head else None
            if name is not None:
                found[name] = None
        mark = re.search(r"# expect: (GS\d{3})(?: in (\w+(?:, \w+)*))?", line)
        if mark and mark[2]:
            elsewhere |= dict.fromkeys(mark[2].split(", "), (mark[1], number))
        elif mark and name is not None:
            found[name] = mark[1], None if line.startswith("def ") else number
    return {**found, **elsewhere}


def waiting(script):
    """The names of a script's programs in which a rank may wait in vain."""
    return {name for name, expected in programs(script).items() if expected and expected[0] in WAITING}
