"""A train() of the program's that would keep parts at rest, in a class that stands behind nn.Module among the bases.

The surprise: Python asks the bases in their order, and nn.Module's own train() calls none behind it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_lines import method
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import EVAL, TRAIN


@dataclass(frozen=True, slots=True)
class UnreachedTrain:
    """The line of a class that has a base behind nn.Module, and the train() of that base."""

    declared: Site
    train: Site


def unreached_train(case: Case, stacks: set[Stack]) -> UnreachedTrain | None:
    """The first train() that is not reached of a module around layers that run here."""
    names = dict.fromkeys(_classes(case, stacks))
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.ClassDef) and node.name in names:
                found = _behind(case, node)
                if found is not None and not _is_run(case, found):
                    head = syntax(case).site(file, node.lineno, node.name)
                    return UnreachedTrain(head, syntax(case).site(found[0], found[1].lineno))
    return None


def _classes(case: Case, stacks: set[Stack]) -> Iterator[str]:
    for operation in case.operators():
        call = operation.module if operation.stack in stacks else None
        while call is not None:
            yield call.module_class
            call = call.parent


def _behind(case: Case, node: ast.ClassDef) -> tuple[str, ast.FunctionDef] | None:
    """The train() of a base that is no module, behind one that is, with its file."""
    is_module = False
    for base in node.bases if method(node, "train") is None else ():
        mixed_in = _plain(case, last_name(base))
        if mixed_in is None:
            is_module = True
        elif is_module:
            own = next(((file, one) for file, owner in mixed_in if (one := method(owner, "train")) is not None), None)
            if own is not None and any(_rests(one) for one in ast.walk(own[1])):
                return own
    return None


def _plain(case: Case, name: str) -> list[tuple[str, ast.ClassDef]] | None:
    """A class of the program's and its bases, where none of them is a class of anybody else's; object's own apart."""
    found, waiting = list[tuple[str, ast.ClassDef]](), [name]
    while waiting:
        wanted = waiting.pop(0)
        owners = [
            (file, node)
            for file in syntax(case).files
            for node in syntax(case).nodes(file)
            if isinstance(node, ast.ClassDef) and node.name == wanted
        ]
        if len(owners) != 1 or owners[0] in found:
            return None
        found += owners
        waiting += [name for name in map(last_name, owners[0][1].bases) if name not in ("object", "ABC")]
    return found


def _rests(node: ast.AST) -> bool:
    """Whether a call puts something into evaluation mode."""
    if not isinstance(node, ast.Call):
        return False
    given = node.args[0] if node.args else None
    is_off = called_name(node) == "train" and isinstance(given, ast.Constant) and given.value is False
    return called_name(node) == "eval" or is_off


def _is_run(case: Case, own: tuple[str, ast.FunctionDef]) -> bool:
    """Whether a call of train() or eval() came out of it."""
    file, node = own
    frames = (
        frame
        for timeline in timelines(case)
        for _, call in timeline.of(TRAIN, EVAL)
        for frame in user_frames(call.stack)
    )
    return any(frame.file == file and syntax(case).function(frame) is node for frame in frames)
