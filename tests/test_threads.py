"""What the program's threads share is copied at once before it is walked through: read off the syntax of the probes.

`list(d.items())` is no copy at once below Python 3.12: it makes a tuple of each item, and the collector may run then.
"""

import ast

from tests.test_floors import PACKAGE

FILES = sorted((PACKAGE / "probes").glob("**/*.py"))
VIEWS = ("items", "values", "keys")


def is_own(node):
    """`self._name`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def is_view_of_own(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in VIEWS
        and is_own(node.func.value)
    )


def dictionaries(tree):
    """The attributes that a class says are dicts or sets."""
    made = (node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and is_own(node.target))
    return {node.target.attr for node in made if ast.unparse(node.annotation).startswith(("dict[", "set["))}


def walked(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.comprehension)):
            yield node.iter
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("list", "tuple", "sorted", "any", "all"):
            yield from (it for it in node.args if is_view_of_own(it) and it.func.attr == "items")


def not_copied(path):
    """The lines of a file that walk through a dict which may change meanwhile."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = dictionaries(tree)
    return [it.lineno for it in walked(tree) if is_view_of_own(it) or (is_own(it) and it.attr in known)]


def test_dicts_of_the_probes_are_copied_before_they_are_walked_through():
    found = {str(path.relative_to(PACKAGE)): not_copied(path) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}
