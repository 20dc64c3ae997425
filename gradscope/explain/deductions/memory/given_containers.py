"""The line of a module's __init__ that keeps the layers it is given in a plain list: `self.layers = list(layers)`.

Who builds the layers and hands them over is right; the class should make a ModuleList of them.
"""

from __future__ import annotations

import ast
from collections import defaultdict

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_lines import class_around, method
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name, names_in
from gradscope.model.site import Site
from gradscope.store.asked import kept

_BUILDERS = ("list", "tuple", "dict", "deque", "OrderedDict")
_REGISTERS = ("ModuleList", "ModuleDict", "Sequential", "ParameterList", "ParameterDict")
_COLLECTIONS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.GeneratorExp)
Keeps = ast.Assign | ast.AnnAssign


def keeps_plainly(case: Case, call: ast.Call, name: str) -> Site | None:
    """Where the class that a call makes an instance of keeps what has a name, or else a collection that stands in the
    call; None where it is no module of the program's, or registers that."""
    for file, owner in _classes(case, called_name(call)):
        begin = method(owner, "__init__")
        given = None if begin is None else _parameter(begin, call, name)
        kept = None if begin is None or given is None else _kept(begin, given)
        if kept is not None and _is_module(case, owner):
            return syntax(case).site(file, kept.lineno, "__init__")
    return None


def is_given(case: Case, site: Site) -> bool:
    """Whether a line of an __init__ keeps in a plain collection, or as it is, what this is given."""
    statement, begin = syntax(case).parsed(site.file).whole_statements.get(site.line), syntax(case).function(site)
    if not isinstance(begin, ast.FunctionDef) or begin.name != "__init__" or class_around(case, site) is None:
        return False
    names = _names(begin)
    return isinstance(statement, Keeps) and any(_is_plain(statement.value, one) for one in names)


def _classes(case: Case, name: str) -> list[tuple[str, ast.ClassDef]]:
    """The class of a name, where the program has only one."""
    found = _by_name(case).get(name, [])
    return found if len(found) == 1 else []


@kept
def _by_name(case: Case) -> dict[str, list[tuple[str, ast.ClassDef]]]:
    """All classes of the sources, with their files."""
    found = defaultdict[str, list[tuple[str, ast.ClassDef]]](list)
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.ClassDef):
                found[node.name].append((file, node))
    return dict(found)


def _is_module(case: Case, owner: ast.ClassDef) -> bool:
    """Whether a class is a module by its bases, as far as the sources tell."""
    waiting, seen = [owner], {owner.name}
    while waiting:
        for base in waiting.pop().bases:
            name = last_name(base)
            if name.endswith("Module") or ast.unparse(base).startswith(("nn.", "torch.nn.")):
                return True
            waiting += [one for _, one in _classes(case, name)] if name not in seen else []
            seen.add(name)
    return False


def _names(begin: ast.FunctionDef) -> list[str]:
    rest = [begin.args.vararg] if begin.args.vararg is not None else []
    return [one.arg for one in (*begin.args.args[1:], *begin.args.kwonlyargs, *rest)]


def _parameter(begin: ast.FunctionDef, call: ast.Call, name: str) -> str | None:
    """The only parameter that a call gives what has a name, or a collection that it makes."""
    plain, rest = [one.arg for one in begin.args.args[1:]], begin.args.vararg
    found = {keyword.arg for keyword in call.keywords if _is_handed(keyword.value, name)}
    for place, value in enumerate(call.args):
        if place < len(plain) and not isinstance(value, ast.Starred):
            found |= {plain[place]} if _is_handed(value, name) else set()
        elif rest is not None and (_is_handed(value, name) or (not name and isinstance(value, ast.Call))):
            found.add(rest.arg)
    return found.pop() if len(found) == 1 else None


def _is_handed(value: ast.expr, name: str) -> bool:
    """Whether a call is given this name, all of it, or a collection in which something is made."""
    value = value.value if isinstance(value, ast.Starred) else value
    if name:
        return isinstance(value, ast.Name) and value.id == name
    return isinstance(value, _COLLECTIONS) and any(isinstance(one, ast.Call) for one in ast.walk(value))


def _kept(begin: ast.FunctionDef, name: str) -> Keeps | None:
    """The first statement that keeps a parameter plainly, where no module's collection is made of it as well."""
    plain: list[Keeps] = []
    for one in ast.walk(begin):
        if isinstance(one, ast.Call) and last_name(one.func) in _REGISTERS and name in names_in(*one.args):
            return None  # a part of them, or a plain list beside it that is meant
        if isinstance(one, Keeps) and _is_plain(one.value, name):
            places = one.targets if isinstance(one, ast.Assign) else [one.target]
            plain += [one] if any(isinstance(place, ast.Attribute) for place in places) else []
    return min(plain, key=lambda each: each.lineno, default=None)


def _is_plain(value: ast.expr | None, name: str) -> bool:
    """`layers`, `list(layers)`, `[*layers]`, `[one for one in layers]`."""
    if isinstance(value, ast.Call) and last_name(value.func) in _BUILDERS and len(value.args) == 1:
        value = value.args[0]
    if isinstance(value, ast.List | ast.Tuple) and len(value.elts) == 1 and isinstance(value.elts[0], ast.Starred):
        value = value.elts[0].value
    elif isinstance(value, ast.ListComp | ast.GeneratorExp) and len(value.generators) == 1:
        is_each = last_name(value.elt) != "" and last_name(value.elt) == last_name(value.generators[0].target)
        value = value.generators[0].iter if is_each else value
    return isinstance(value, ast.Name) and value.id == name
