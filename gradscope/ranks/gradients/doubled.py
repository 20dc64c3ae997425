"""Running totals that all ranks have alike, and that are summed over the ranks again whenever they meet."""

from __future__ import annotations

import ast
import math
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from gradscope.functions.source import called_name, names_in
from gradscope.model.rank import Collective
from gradscope.model.site import Site
from gradscope.ranks.core.keys import unwrapped
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.buffer_writes import written_on
from gradscope.ranks.source.syntax import at_line, function_around, tree_of
from gradscope.ranks.source.ways import ways_of
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.rank_reader import read_buffers
from gradscope.store.reader import Recording, load

SUMS = ("c10d.allreduce", "_c10d_functional.all_reduce")
_MEETINGS = 4  # between two looks, at least: a total that grows evenly doubles between looks as well
_EXACT = 0.02  # relative, of the logarithm
_PAIRS = 2  # of looks, one after the other

Sizes = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Doubled:
    """A buffer that became `times` as large each time, where it is summed, and the line that then writes it."""

    buffer: str
    times: int
    summed: Site
    writes: Site


def doubled(ranks: Ranks) -> Doubled | None:
    """The first such buffer of two ranks."""
    sums = [one for one in ranks.collectives if one.operator.startswith(SUMS) and not one.inside and one.site]
    if len(ranks.ranks) < 2 or not sums:
        return None
    with load(Path(ranks.ranks[0].path)) as here:
        grown = {name: sizes for name, sizes in _sizes(here).items() if _grows(sizes)}
        if not grown:
            return None
        with load(Path(ranks.ranks[1].path)) as there:
            alike = _sizes(there)
        ways = ways_of(here)
        for name, sizes in sorted(grown.items()):
            for one in sums if alike.get(name) == sizes else ():
                met = Counter({at: sum(str(each.site) == str(one.site) for each in way) for at, way in ways.items()})
                writes = _written(here, one, name) if _doubles(sizes, met, _world(one)) else None
                if writes is not None and one.site is not None:
                    return Doubled(unwrapped(name), _world(one), one.site, writes)
    return None


def _world(one: Collective) -> int:
    return 1 if one.group is None else len(one.group.members)


def _sizes(recording: Recording) -> dict[str, Sizes]:
    """By buffer: the looks at which its norm was finite, and no zero, with the norm."""
    found: dict[str, Sizes] = {}
    with damage_is_one_sentence(recording.path):
        looks = list(read_buffers(recording.tables.rows, recording.tables.interned, all_of_them=True))
    for look in looks:
        for name, text in look.norms:
            if math.isfinite(float(text)) and float(text) > 0:
                found.setdefault(name, []).append((look.backward, float(text)))
    return found


def _grows(sizes: Sizes) -> bool:
    return len(sizes) > _PAIRS and sizes[-1][1] > 2 ** (_MEETINGS * _PAIRS) * sizes[0][1]


def _doubles(sizes: Sizes, met: Counter[int], world: int) -> bool:
    """Whether a size became exactly as many times as large as there are ranks, each time that a line was come to."""
    last = max(sizes[-1][0], *met) if met else 0
    until = list(accumulate(met[at] for at in range(last + 1)))
    exact = []
    for (one, size), (other, later) in pairwise(sizes):
        times = until[other] - until[one]
        if times >= _MEETINGS:
            exact.append(math.isclose(math.log(later / size), times * math.log(world), rel_tol=_EXACT))
    return world > 1 and any(all(exact[at : at + _PAIRS]) for at in range(len(exact) - _PAIRS + 1))


def _written(recording: Recording, one: Collective, buffer: str) -> Site | None:
    """The last line below a sum, or that of the sum, by which what was summed comes into a buffer."""
    site, name = one.site, unwrapped(buffer).rpartition(".")[2]
    function = None if site is None else function_around(tree_of(recording, site), site.line)
    call = None if site is None or function is None else sum_on(function, site.line)
    if site is None or function is None or call is None:
        return None
    given = call.args[0]
    if isinstance(given, ast.Attribute) and given.attr == name:
        return site
    below = [node.lineno for node in ast.walk(function) if isinstance(node, ast.stmt) and node.lineno > site.line]
    sites = (at_line(recording, site, line) for line in below)
    writes = [(at.line, *each) for at in sites if name in (at.source or "") for each in written_on(recording, at)]
    of_sum = _made_of(function, given)
    lines = [line for line, written, put in writes if written == name and any(_names(each) & of_sum for each in put)]
    return at_line(recording, site, max(lines)) if lines else None


def sum_on(function: ast.AST, line: int) -> ast.Call | None:
    """The call on a line that sums over ranks, and does not take their greatest, say."""
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call) and node.lineno == line)
    for call in calls:
        if "all_reduce" in called_name(call) and call.args:
            by_name = (each.value for each in call.keywords if each.arg == "op")
            how = next(by_name, call.args[1] if len(call.args) > 1 else None)
            return call if how is None or "SUM" in _names(how) else None
    return None


def _made_of(function: ast.AST, given: ast.expr) -> set[str]:
    """The variables of a function that hold what was summed, or come of it, as far as their lines tell."""
    found = names_in(given)
    for node in sorted(_assignments(function), key=lambda one: one.lineno):
        if _names(node.value) & found:
            found |= {each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return found - {"self"}


def _assignments(function: ast.AST) -> list[ast.Assign]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Assign)]


def _names(value: ast.expr) -> set[str]:
    """The variables and attributes in an expression."""
    attributes = {node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)}
    return attributes | names_in(value)
