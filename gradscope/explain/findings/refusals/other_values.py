"""GS866: a method of tensors or of modules that is asked of something else, as of the pair that an LSTM returns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.lines.named_values import assignments, owners, returns_nothing
from gradscope.explain.deductions.lines.refusals import Refusal, refused
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.failure import Failure
from gradscope.model.site import Site

_OF_TENSORS = (
    "(backward|size|shape|dim|ndim|dtype|device|to|cpu|cuda|view|reshape|squeeze|unsqueeze|transpose|permute|flatten|"
    "contiguous|float|half|long|item|detach|numpy|mean|sum|argmax|max|softmax|log_softmax|chunk|requires_grad\\w*)"
)
_UNPACKED = re.compile("not enough values to unpack|too many values to unpack")
_OF_MODULES = "(eval|train|to|cuda|cpu|parameters|named_parameters|state_dict|load_state_dict|forward|modules)"


def _made(case: Case, failure: Failure, groups: tuple[str, ...]) -> Site | None:
    """The call whose result has the name that the line that failed asks."""
    last = _last(case, failure, groups)
    return _line(case, failure, last) if last is not None and isinstance(last.value, ast.Call) else None


def _nothing(case: Case, failure: Failure, groups: tuple[str, ...]) -> Site | None:
    """The function that returns nothing, whose result has the name that the line that failed asks."""
    last = _last(case, failure, groups)
    return None if last is None else returns_nothing(case, last.value)


def _number(case: Case, failure: Failure, groups: tuple[str, ...]) -> Site | None:
    """The line that takes the number out of a tensor, and gives it the name that the line that failed asks."""
    for name in owners(case, failure.site, groups[-1]):
        for node in reversed(assignments(case, failure.site, name)):
            calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
            if any(called_name(one) in ("item", "float", "tolist") for one in calls):
                return _line(case, failure, node)
    return None


def _parts(case: Case, failure: Failure, _: tuple[str, ...]) -> Site | None:
    """What says how many parts a loader gives that a loop goes through: the only dataset; the loop, of enumerate()."""
    for loop in (one for one in source_lines.at(case, failure.site) if isinstance(one, ast.For)):
        counted = isinstance(loop.iter, ast.Call) and called_name(loop.iter) == "enumerate"
        if counted and isinstance(loop.target, ast.Tuple) and len(loop.target.elts) != 2:
            return failure.site
        if any(_gives_batches(one, _loaders(case)) for one in ast.walk(loop.iter)):
            datasets = list(_datasets(case))
            return datasets[0] if len(datasets) == 1 else None
    return None


def _gives_batches(node: ast.AST, loaders: set[str]) -> bool:
    return last_name(node) in loaders or (isinstance(node, ast.Call) and called_name(node) == "DataLoader")


def _loaders(case: Case) -> set[str]:
    """The names that are given a DataLoader."""
    named = [node for file in syntax(case).files for node in syntax(case).nodes(file) if isinstance(node, ast.Assign)]
    built = [node for node in named if isinstance(node.value, ast.Call) and called_name(node.value) == "DataLoader"]
    return {last_name(target) for node in built for target in node.targets}


def _datasets(case: Case) -> Iterator[Site]:
    """The lines that say what a sample is: a TensorDataset's, and what is returned by a __getitem__."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.Call) and called_name(node) == "TensorDataset":
                yield syntax(case).site(file, node.lineno)
            elif isinstance(node, ast.FunctionDef) and node.name == "__getitem__":
                yield from (
                    syntax(case).site(file, one.lineno) for one in ast.walk(node) if isinstance(one, ast.Return)
                )


def _pair_of_states(case: Case, failure: Failure, _: tuple[str, ...]) -> Site | None:
    """The line that takes the state of one layer, which it calls, for two: `output, (h, c) = self.rnn(x)`."""
    for node in source_lines.at(case, failure.site):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Tuple):
            inner = [one for one in node.targets[0].elts if isinstance(one, ast.Tuple) and len(one.elts) == 2]
            if len(inner) == 1 == len(node.targets[0].elts) - 1:
                return failure.site
    return None


def _last(case: Case, failure: Failure, groups: tuple[str, ...]) -> ast.Assign | ast.AugAssign | ast.AnnAssign | None:
    found = [node for name in owners(case, failure.site, groups[-1]) for node in assignments(case, failure.site, name)]
    return found[-1] if found else None


def _line(case: Case, failure: Failure, node: ast.stmt) -> Site | None:
    return None if failure.site is None else syntax(case).site(failure.site.file, node.lineno)


VALUES = (
    Refusal(
        re.compile(f"'tuple' object has no attribute '{_OF_TENSORS}'"),
        "this is a tuple, as recurrent layers and attention return, and no tensor",
        "take the part that is meant: output, state = layer(x)",
        where=_made,
        role="where a tensor is meant",
    ),
    Refusal(
        re.compile(f"'list' object has no attribute '{_OF_TENSORS}'"),
        "this is a list, and no tensor",
        "torch.stack() makes one tensor of several, torch.tensor() of numbers; a batch that is a list is what "
        "__getitem__ returns, gone through",
        where=_made,
        role="where a tensor is meant",
    ),
    Refusal(
        re.compile(r"'(?:dict|\w*Output\w*)' object has no attribute '" + _OF_TENSORS + "'"),
        "this is a dict, as many models return, and no tensor",
        'take the part that is meant by its name: out["logits"], out.logits',
        where=_made,
        role="where a tensor is meant",
    ),
    Refusal(
        re.compile(f"'numpy.ndarray' object has no attribute '{_OF_TENSORS}'"),
        "this is numpy's array, and no tensor",
        "make a tensor of it with torch.from_numpy(), and keep what trains in torch",
        where=_made,
        role="where a tensor is meant",
    ),
    Refusal(
        re.compile(r"'(?:collections\.)?(?:OrderedDict|dict)' object has no attribute '" + _OF_MODULES + "'"),
        "what was loaded is a state_dict(), and no module",
        "build the model, and give it what was loaded: model.load_state_dict(...)",
        where=_made,
        role="where a module is meant",
    ),
    Refusal(
        re.compile("'_IncompatibleKeys' object has no attribute '(\\w+)'"),
        "load_state_dict() returns what did not fit, and not the module",
        "call it by itself, and go on with the module that it was called of",
        where=_made,
        role="where a module is meant",
    ),
    Refusal(
        re.compile("'float' object has no attribute '(backward|detach|item|cpu)'"),
        "this is a number, without a graph",
        "add up the losses themselves where they are to be derived, and item() only in what is shown",
        where=_number,
        role="where a tensor is meant",
    ),
    Refusal(
        re.compile("'int' object has no attribute '(backward|detach|item|cpu)'"),
        "nothing was added to what began as a number: no term of this loss was computed",
        "leave a batch out in which no term applies, and look at the condition under which one is added",
    ),
    Refusal(
        re.compile("'NoneType' object has no attribute '(backward)'"),
        "what is to be derived is None, as from a function that returns nothing",
        "return the loss",
        where=_nothing,
    ),
    Refusal(
        _UNPACKED,
        "the state of a GRU or RNN is one tensor, where two are taken, as an LSTM has",
        "output, state = layer(x)",
        where=_pair_of_states,
        placed=True,
    ),
    Refusal(
        _UNPACKED,
        "the loop takes another number of parts than a batch has",
        "a batch has the parts of a sample, and enumerate() gives two things: for i, (x, y) in enumerate(loader)",
        where=_parts,
        role="the loop",
        placed=True,
    ),
)


def another_value(case: Case) -> Iterator[Cause]:
    """What it flags: the run ended in a method of tensors (or of modules) that was asked of something else.

    Why: recurrent layers and attention return pairs, many models return a dict, item() returns a number without a
    graph, a function without return returns None, and what torch.load() gives back of a state_dict() is a dict.

    Wrong:
        out = self.lstm(x)
        return self.head(out.flatten(1))

    Right:
        out, state = self.lstm(x)
        return self.head(out.flatten(1))

    Do instead: make a tensor of it where it is made, or take the part of it that is meant.

    How it is found: Python's words. The line is the one that gives the value its name; the function that returns
    nothing.
    """
    for one in refused(case, VALUES):
        yield one.cause
