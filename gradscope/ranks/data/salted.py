"""GS782: numbers that hash() makes of text in a dataset, which each process makes otherwise."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site
from gradscope.ranks.core.copies import replicas_of
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.given import SEEDS
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_of, tree_of
from gradscope.ranks.source.texts import Texts
from gradscope.store.reader import Recording, load

_SEED = "PYTHONHASHSEED"
_HASH = "hash"
_CALLED = "__call__"
_SELF = "self"
_PUTS = frozenset(("append", "add", "extend"))
_OF_DATA = "Dataset"  # ends the names of bases of datasets
_FORKS = "fork"  # a process that is made so has the salt of its parent
_ELSEWHERE = frozenset(("str", "format", "Random", "RandomState", "default_rng", "seed", *SEEDS))
_MOST = 2**31  # buckets: more are the numbers of a seed


def salted(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A dataset that numbers its samples by hash() of text, under DistributedDataParallel.
    Why:
        Python salts the hash of text in each process by another number. What is row 3 of an embedding on one rank is
        row 70 on another, so that ranks train one row for samples of different kinds; after a restart, or with the
        weights loaded elsewhere, the numbers are others again.
    Wrong:
        group = hash(name) % 101
    Right:
        group = zlib.crc32(name.encode()) % 101
    Do instead:
        Number the texts in their sorted order, or use a hash without a salt: zlib.crc32, hashlib.
    How it is found:
        A call of Python's own hash() on what the source shows to be text, whose remainder is taken by a number, in a
        class that derives from a Dataset and that the program makes, or in a function, or a method of what the class is
        given, that returns it and that such a class calls, or another of these does; no rank has PYTHONHASHSEED set,
        and none is made by a fork.
    """
    members = next((one.members for one in replicas_of(ranks)), ())
    if not members:
        return
    with load(Path(ranks.rank(members[0]).path)) as recording:
        seed = recording.run().environment.get(_SEED, "random")
        site = _bucket(recording) if seed == "random" else None
    if site is not None:
        yield Blame(
            "hash() of text gives other numbers in each process, so that the ranks do not number their samples alike",
            site,
            certain=False,
        )


def _bucket(recording: Recording) -> Site | None:
    """The line of a dataset that takes the remainder of a salted hash."""
    places = [(Site(file, 1, ""), tree_of(recording, Site(file, 1))) for file in sorted(recording.sources())]
    nodes = [node for _, tree in places for node in nodes_of(tree)]
    if any(_forks(node) for node in nodes) or any(getattr(node, "name", "") == _HASH for node in nodes):
        return None
    made = {called_name(node) for node in nodes if isinstance(node, ast.Call)}
    texts = Texts(tuple(tree for _, tree in places))
    owners = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name in made and _is_of_data(node)]
    asked = _asked([tree for _, tree in places], owners, texts)
    for site, tree in places:
        own = [(owner, node) for owner in owners if owner in nodes_of(tree) for node in _remainders(owner)]
        helping = [(one, node) for one in asked if one in nodes_of(tree) for node in _given_back(one, _remainders(one))]
        for owner, node in (*own, *helping):
            function = function_around(tree, node.lineno)
            if function is None or _names_or_seeds(owner, node):
                continue
            if texts.is_text(function, node.args[0]):
                return at_line(recording, site, node.lineno)
    return None


def _asked(trees: list[ast.Module], owners: list[ast.ClassDef], texts: Texts) -> list[Function]:
    """The functions, and methods of other classes, of which a dataset asks what comes back, or one of these does."""
    nodes = [node for tree in trees for node in nodes_of(tree)]
    names = Counter(node.name for node in nodes if isinstance(node, Function))
    helpers = [
        (helper, within)
        for tree in trees
        for helper, within in _helpers(tree)
        if within not in owners and (names[helper.name] == 1 or helper.name == _CALLED)
    ]
    found: list[Function] = []
    askers: list[ast.ClassDef | Function] = [*owners]
    while askers:
        asker = askers.pop()
        for helper, within in helpers:
            calls = list(_asking(asker, helper, within, texts)) if helper not in found else []
            if isinstance(asker, Function):
                calls = list(_given_back(asker, calls))
            if calls and not any(_names_or_seeds(asker, call) for call in calls):
                found.append(helper)
                askers.append(helper)
    return found


def _helpers(tree: ast.Module) -> Iterator[tuple[Function, ast.ClassDef | None]]:
    """The functions of a file outside of others, and the methods with their classes."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node, None
        elif isinstance(node, ast.ClassDef):
            yield from ((one, node) for one in node.body if isinstance(one, Function))


def _asking(
    asker: ast.ClassDef | Function, helper: Function, within: ast.ClassDef | None, texts: Texts
) -> Iterator[ast.Call]:
    """The calls in a dataset or helper of a function, or of a method of what is made of a class."""
    methods = [asker] if isinstance(asker, Function) else [one for one in asker.body if isinstance(one, Function)]
    for method in methods:
        for call in (node for node in ast.walk(method) if isinstance(node, ast.Call)):
            of = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == helper.name else None
            of = call.func if helper.name == _CALLED else of
            is_helper = within is None and ast.unparse(call.func) == helper.name
            if is_helper or (within and of and _is_of(within, method, of, texts)):
                yield call


def _is_of(within: ast.ClassDef, method: Function, value: ast.expr, texts: Texts) -> bool:
    """Whether a value in a method is an object of a class: made so, or that of the method itself."""
    is_own = method in within.body and isinstance(value, ast.Name) and value.id == _SELF
    return is_own or texts.is_made_of(method, value, within.name)


def _given_back(helper: Function, calls: Iterable[ast.Call]) -> Iterator[ast.Call]:
    """Those of some calls whose results a function returns or yields, as they are or in what it puts them into."""
    ways = [node for node in ast.walk(helper) if isinstance(node, ast.Return | ast.Yield) and node.value is not None]
    given = {id(node): ast.unparse(node) for way in ways for node in ast.walk(way) if isinstance(node, ast.expr)}
    for call in calls:
        if id(call) in given or _holders(helper, call) & set(given.values()):
            yield call


def _holders(helper: Function, call: ast.Call) -> set[str]:
    """The names of what a function binds or puts the result of a call to, or writes at the place that it says."""
    found: list[ast.expr] = []
    for node in ast.walk(helper):
        if isinstance(node, ast.Assign | ast.AugAssign) and call in ast.walk(node):
            found += node.targets if isinstance(node, ast.Assign) else [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PUTS:
            found += [node.func.value] if any(call in ast.walk(one) for one in node.args) else []
    return {ast.unparse(one.value if isinstance(one, ast.Subscript) else one) for one in found}


def _forks(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == _FORKS


def _is_of_data(owner: ast.ClassDef) -> bool:
    return any(last_name(base).endswith(_OF_DATA) for base in owner.bases)


def _remainders(owner: ast.AST) -> Iterator[ast.Call]:
    """The hashes of which the remainder is taken by a number of buckets."""
    for node in ast.walk(owner):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and not _is_of_a_seed(node.right):
            for call in ast.walk(node.left):
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Name)
                    and call.func.id == _HASH
                    and call.args
                ):
                    yield call


def _names_or_seeds(owner: ast.AST, call: ast.Call) -> bool:
    """Whether what comes of a hash goes into a name, as that of a file is, or seeds random numbers."""
    nodes = list(ast.walk(owner))
    assigned = [node for node in nodes if isinstance(node, ast.Assign) and call in ast.walk(node.value)]
    targets = {ast.unparse(target) for node in assigned for target in node.targets}
    for node in nodes:
        is_name = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
        if is_name or (isinstance(node, ast.Call) and called_name(node) in _ELSEWHERE):
            inside = list(ast.walk(node))
            if call in inside or any(isinstance(one, ast.expr) and ast.unparse(one) in targets for one in inside):
                return True
    return False


def _is_of_a_seed(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int) and value.value >= _MOST
    return isinstance(value, ast.BinOp) and not isinstance(value.op, ast.Add)
