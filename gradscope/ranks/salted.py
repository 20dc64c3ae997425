"""GS782: numbers that hash() makes of text in a dataset, which each process makes otherwise."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site
from gradscope.ranks.copies import replicas_of
from gradscope.ranks.given import SEEDS
from gradscope.ranks.kind import Blame
from gradscope.ranks.known import Ranks
from gradscope.ranks.syntax import Function, at_line, function_around, nodes_of, tree_of
from gradscope.ranks.texts import Texts
from gradscope.store.reader import Recording, load

_SEED = "PYTHONHASHSEED"
_HASH = "hash"
_CALLED = "__call__"
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
        given, that returns it and that such a class calls; no rank has PYTHONHASHSEED set, and none is made by a fork.
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
    for site, tree in places:
        own = [(owner, node) for owner in owners if owner in nodes_of(tree) for node in _remainders(owner)]
        for owner, node in (*own, *_in_helpers(tree, nodes, owners, texts)):
            function = function_around(tree, node.lineno)
            if function is None or _names_or_seeds(owner, node):
                continue
            if texts.is_text(function, node.args[0]):
                return at_line(recording, site, node.lineno)
    return None


def _in_helpers(
    tree: ast.Module, nodes: list[ast.AST], owners: list[ast.ClassDef], texts: Texts
) -> Iterator[tuple[Function, ast.Call]]:
    """The functions and methods of a file that give a dataset what comes of a hash, and their hashes."""
    names = Counter(node.name for node in nodes if isinstance(node, Function))
    for helper, within in _helpers(tree):
        if within in owners or (names[helper.name] > 1 and helper.name != _CALLED):
            continue
        asked = [(owner, call) for owner in owners for call in _asking(owner, helper, within, texts)]
        if asked and not any(_names_or_seeds(owner, call) for owner, call in asked):
            yield from ((helper, node) for node in _remainders(helper) if _is_returned(helper, node))


def _helpers(tree: ast.Module) -> Iterator[tuple[Function, ast.ClassDef | None]]:
    """The functions of a file outside of others, and the methods with their classes."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node, None
        elif isinstance(node, ast.ClassDef):
            yield from ((one, node) for one in node.body if isinstance(one, Function))


def _asking(owner: ast.ClassDef, helper: Function, within: ast.ClassDef | None, texts: Texts) -> Iterator[ast.Call]:
    """The calls in a dataset of a function, or of a method of what is made of a class."""
    for method in (one for one in owner.body if isinstance(one, Function)):
        for call in (node for node in ast.walk(method) if isinstance(node, ast.Call)):
            of = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == helper.name else None
            of = call.func if helper.name == _CALLED else of
            is_helper = within is None and ast.unparse(call.func) == helper.name
            if is_helper or (within and of and texts.is_made_of(method, of, within.name)):
                yield call


def _is_returned(helper: Function, call: ast.Call) -> bool:
    returned = [node.value for node in ast.walk(helper) if isinstance(node, ast.Return) and node.value is not None]
    return any(call in ast.walk(value) for value in returned)


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
