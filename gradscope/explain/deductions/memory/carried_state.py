"""The line to edit where a graph is carried from one step into the next, other than the one that computed the value.

It is the cache that hands the value out again, or a detach() whose result nobody takes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_names import carries, followed, targets
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.site import Origin, Site, Stack, user_frames, user_site

_OF_PARAMETRIZATIONS = "get_cached_parametrization"  # torch's function that makes what cached() keeps
_CACHES = ("lru_cache", "cache", "cached_property", "cached", "memoize")

_OUTSIDE = {"self", "torch", "nn", "F"}  # names that no function is handed


def cache_around(case: Case, stack: Stack) -> Site | None:
    """What keeps a value for the next call: its function's decorator, or a store on self, there or in a caller."""
    for caller in user_frames(stack):
        statement = syntax(case).parsed(caller.file).whole_statements.get(caller.line)
        if isinstance(statement, ast.Assign) and any(map(_is_a_key_of_self, statement.targets)):
            return syntax(case).site(caller.file, statement.lineno, caller.function)
    made, received = user_site(stack), received_at(case, stack)
    if made is None or received is None or _is_kept_at_once(case, made) or _is_kept_at_once(case, received):
        return None
    return _cached_by_decorator(case, made) or _stored_after(case, made) or _stored_after(case, received)


def built_before_the_loop(case: Case, stack: Stack, backward: Stack) -> Site | None:
    """The line of the function that loops over a backward, outside of its loop, that made what a stack's operator did.

    What is kept on self as it is computed is another fault.
    """
    places = (user_site(stack), received_at(case, stack))
    if any(place is None or _is_kept_at_once(case, place) for place in places):
        return None
    frames = [(site, within) for site in stack for within in backward if site.origin is Origin.USER]
    for site, within in frames:
        if site.is_in_function_of(within):
            loop = syntax(case).loop(within)
            if loop is not None and not loop.lineno <= site.line <= (loop.end_lineno or loop.lineno):
                return site
    return None


def parametrizations_cached(case: Case, stack: Stack) -> Site | None:
    """torch's parametrize.cached() around a line of a stack, or the only one, where it keeps what an operator made."""
    if not any(site.function == _OF_PARAMETRIZATIONS and site.origin is Origin.TORCH for site in stack):
        return None
    around = (_cached_around(case, site) for site in stack if site.origin is Origin.USER)
    calls = list(syntax(case).everywhere(lambda node: isinstance(node, ast.Call) and last_name(node.func) == "cached"))
    return next((site for site in around if site is not None), calls[0] if len(calls) == 1 else None)


def _cached_around(case: Case, site: Site) -> Site | None:
    """The innermost `with cached()` around a line."""
    around = [
        node.lineno
        for node in syntax(case).nodes(site.file)
        if isinstance(node, ast.With) and node.lineno < site.line <= (node.end_lineno or 0)
        for item in node.items
        if isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) == "cached"
    ]
    return syntax(case).site(site.file, max(around), site.function) if around else None


def _cached_by_decorator(case: Case, made: Site) -> Site | None:
    """The decorator that keeps what a line's function returns."""
    function = syntax(case).function(made)
    for decorator in function.decorator_list if isinstance(function, ast.FunctionDef) else ():
        if last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) in _CACHES:
            return syntax(case).site(made.file, decorator.lineno, made.function)
    return None


def _stored_after(case: Case, made: Site) -> Site | None:
    """The line, later in the function, that keeps on self what a line has made."""
    function = syntax(case).function(made)
    if not isinstance(function, ast.FunctionDef):
        return None
    statement = syntax(case).parsed(made.file).whole_statements.get(made.line)
    names = set() if statement is None else targets(statement)
    known = followed(function, names) - {"self"}  # what else is kept on self is not computed from it
    assigns = (one for one in ast.walk(function) if isinstance(one, ast.Assign) and one.lineno >= made.line)
    kept = (one for one in assigns if any(not names or carries(value, known) for value in values_on_self(one)))
    line = next((one.lineno for one in kept), None)
    return None if line is None else syntax(case).site(made.file, line, made.function)


def values_on_self(assign: ast.Assign) -> Iterator[ast.expr]:
    """What an assignment keeps on self: of `self.first, self.second = one, two` each of the two."""
    for target in assign.targets:
        values = assign.value.elts if isinstance(assign.value, ast.Tuple) else []
        places = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == len(values) else []
        pairs = zip(places, values, strict=True) if places else [(target, assign.value)]
        yield from (value for place, value in pairs if is_of_self(place))


def stored_at(case: Case, stack: Stack) -> Site | None:
    """The line of a user's function that keeps on self what an operator has made, at once or later in the function."""
    for made in (user_site(stack), received_at(case, stack)):
        if made is not None:
            store = made if _is_kept_at_once(case, made) else _stored_after(case, made)
            if store is not None:
                return store
    return None


def received_at(case: Case, stack: Stack) -> Site | None:
    """The line that takes a value from the functions that only return it: where it gets the name that is carried on."""
    lines = user_frames(stack)
    for site in lines:
        statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
        if not isinstance(statement, ast.Return):
            return site
    return lines[0] if lines else None


def handed_in_at(case: Case, stack: Stack) -> Site | None:
    """The line at which a value gets a name of its own, above the functions that were only handed it."""
    lines = user_frames(stack)
    for site in lines:
        function, statement = syntax(case).function(site), syntax(case).statement(site)
        if not isinstance(function, ast.FunctionDef) or statement is None:
            return site
        handed = {one.arg for one in function.args.args[1:]}
        read = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
        if function.name != "forward" or not read & handed or (read - handed) - _OUTSIDE:
            return site
    return lines[0] if lines else None


def thrown_away_detach(case: Case) -> Site | None:
    """The only line of the program that calls detach() and does not take the result."""
    found = [site for file in syntax(case).files for site in _thrown_away(case, file)]
    return found[0] if len(found) == 1 else None


def _thrown_away(case: Case, file: str) -> Iterator[Site]:
    for node in syntax(case).nodes(file):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "detach":
            yield syntax(case).site(file, call.func.end_lineno or call.lineno)


def _is_kept_at_once(case: Case, made: Site) -> bool:
    """Whether the line that computes a value keeps it as an attribute: `self.state = self.state.index_copy(...)`."""
    statement = syntax(case).parsed(made.file).whole_statements.get(made.line)
    places = statement.targets if isinstance(statement, ast.Assign) else ()
    return any(isinstance(place, ast.Attribute) for place in places)


def is_of_self(target: ast.expr) -> bool:
    """`self.table[key] = ...`, `self.state = ...`"""
    return _is_a_key_of_self(target) or (
        isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    )


def _is_a_key_of_self(target: ast.expr) -> bool:
    """`self.table[key] = ...`"""
    owner = target.value if isinstance(target, ast.Subscript) else None
    return isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name) and owner.value.id == "self"
