"""What torch refuses of modules, told as GS863: without a forward, held by their own part, given what is no layer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches

from gradscope.explain.deductions.lines.refusals import Refusal
from gradscope.explain.deductions.lines.settings import setting_line
from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, is_attribute_of
from gradscope.model.failure import Failure
from gradscope.model.site import Origin, Site


def _almost_forward(case: Case, _: Failure, names: tuple[str, ...]) -> Site | None:
    """A function inside a method of this class that is called forward, or a method that nearly is; else the class."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.ClassDef) and node.name in names:
                inner = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef)]
                near = [one for one in inner if get_close_matches(one.name.strip("_").lower(), ["forward"], cutoff=0.8)]
                return syntax(case).site(file, near[0].lineno if near else node.lineno)
    return None


def _heads(case: Case, failure: Failure, _: tuple[str, ...]) -> Site | None:
    """The line that says how many heads there are."""
    return setting_line(case, failure.stack, "num_heads", 1) or setting_line(case, failure.stack, "nhead", 1)


def _plain_arguments(call: ast.Call) -> set[str]:
    values = [*call.args, *(one.value for one in call.keywords)]
    return {one.id for one in values if isinstance(one, ast.Name)}


def _holds_itself(case: Case, failure: Failure, _: tuple[str, ...]) -> Site | None:
    """The only line that keeps on `self` a parameter of __init__ for which another module gives itself.

    It is torch that goes round then, from module to module, and no function of the program's own.
    """
    if not any(site.origin is Origin.TORCH for site in failure.stack[:2]):
        return None
    trees = [(file, node) for file in syntax(case).files for node in syntax(case).nodes(file)]
    given = {called_name(node) for _, node in trees if isinstance(node, ast.Call) and "self" in _plain_arguments(node)}
    kept = {
        syntax(case).site(file, line)
        for file, node in trees
        if isinstance(node, ast.ClassDef) and node.name in given
        for line in _parameters_kept(source_lines.method(node, "__init__"))
    }
    return kept.pop() if len(kept) == 1 else None


def _parameters_kept(method: ast.FunctionDef | None) -> Iterator[int]:
    names = {one.arg for one in method.args.args[1:]} if method is not None else set()
    for node in ast.walk(method) if method is not None else ():
        given = node.value if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(given, ast.Name) and given.id in names:
            yield from (node.lineno for target in node.targets if is_attribute_of(target, "self"))


OF_MODULES = (
    Refusal(
        re.compile(r"Module \[(ModuleList|ModuleDict)\] is missing the required"),
        "a {0} only holds modules, and is not called itself",
        "go through it, for layer in self.layers: x = layer(x); or keep the layers in nn.Sequential",
    ),
    Refusal(
        re.compile(r'Module \[(\w+)\] is missing the required "forward" function'),
        "{0} has no forward()",
        "define forward in the class, beside __init__ and not inside of it, and spell it so",
        where=_almost_forward,
    ),
    Refusal(
        re.compile(r"cannot assign (?:module|parameters?|\w+) before Module\.__init__\(\) call"),
        "this module keeps something before it is one",
        "call super().__init__() first in __init__",
    ),
    Refusal(
        re.compile(r"cannot assign '[\w.]+' (?:object )?(?:as|to) parameter '(\w+)'"),
        "{0} is a parameter, and what is assigned is a plain tensor with a graph behind it",
        "write into it under torch.no_grad(), with {0}.copy_() or {0} -= ...; or let an optimizer do it",
    ),
    Refusal(
        re.compile(r"(?:\w+\.)*(\w+) is not a Module subclass"),
        "what is to be a layer is a {0}",
        "nn.Sequential(*layers) takes a list apart; a class is built first, nn.ReLU(); a function needs a module",
    ),
    Refusal(
        re.compile("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"),
        "a bias, or a normalisation's weight, has one dimension, and so no fan in",
        "leave those out: if parameter.dim() > 1",
    ),
    Refusal(
        re.compile("argument 'size'.* (?:must be tuple of ints, but (?:found element of type|got) float|got float)"),
        "a size is a float, as of a division with /",
        "divide with //, or give int(...)",
    ),
    Refusal(
        re.compile("embed_dim must be divisible by num_heads"),
        "the embedding is no multiple of the heads, each of which takes an equal part of it",
        "take a number of heads that divides the embedding",
        where=_heads,
    ),
    Refusal(
        re.compile(r"(?:(\w+)\.)?forward\(\) (missing \d+ required .*|takes .*)"),
        "forward() of {0} is called with other arguments than it takes: {1}",
        "give it what it takes; self counts as one, and nn.Sequential hands on one value",
    ),
    Refusal(
        re.compile(r"'((?:Distributed)?DataParallel|FullyShardedDataParallel)' object has no attribute '(\w+)'"),
        "{1} belongs to the module inside of this wrapper",
        "ask model.module.{1}, and call the wrapper itself where gradients are to be averaged",
        functions=("__getattr__",),
    ),
    Refusal(
        re.compile(r"'(\w+)' object has no attribute '(\w+)'"),
        "a {0} has no {1}",
        "look at how __init__ spells it, and whether the line that sets it was run",
        functions=("__getattr__",),
    ),
    Refusal(
        re.compile("maximum recursion depth exceeded"),
        "this module holds the one that holds it, and so has itself for a part",
        "give it what it needs of the other one, or keep that in a tuple, (parent,), which registers nothing",
        where=_holds_itself,
        placed=True,
    ),
)
