"""Every Function of the corpus gets exactly the findings that its comments expect, on their lines."""

import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

from gradscope.functions.check import Settings, check
from gradscope.functions.loading import functions_in
from gradscope.functions.rules.table import RULES
from gradscope.model.finding import Severity
from tests.torch_versions import ALSO_TOLD_HERE, has

CORPUS = Path(__file__).parent / "corpus"
MODULES = sorted(path.stem for path in CORPUS.glob("*.py") if path.stem != "__init__")
CLEAN = re.compile(r"# clean: ([A-Z0-9 ]+)$", re.MULTILINE)
RIGHT = ("base", "realistic", "libraries", "everyday")  # no errors; warnings may be
EXPECT = re.compile(r"# expect: ([A-Z0-9? ]+?)(?: @(\w+))?$")


def functions_of(name):
    return list(functions_in(importlib.import_module(f"tests.functions.corpus.{name}")))


def expected_of(function):
    """Pairs of code and line from the comments in the class's source, and from those that name the class."""
    lines, first = inspect.getsourcelines(function)
    source = Path(inspect.getsourcefile(function)).read_text().splitlines()
    found = set()
    for number, line in enumerate(source, 1):
        match = EXPECT.search(line)
        inside = first <= number < first + len(lines)
        if match and (match[2] == function.__name__ or (inside and not match[2])):
            found |= {(code, number) for code in match[1].split()}
    return found


def clean_of(function):
    """The codes of which the comments in the class's own source say that it is a clean example."""
    return {code for codes in CLEAN.findall(inspect.getsource(function)) for code in codes.split()}


CASES = [(name, function) for name in MODULES for function in functions_of(name)]


def lacks(function):
    """The part of torch that a Function uses and this torch does not have, or ""."""
    needed = getattr(function, "needs", "")
    return needed if needed and not has(needed) else ""


def param(name, function):
    marks = [pytest.mark.skip(f"this torch has no {lacks(function)}")] if lacks(function) else []
    return pytest.param(name, function, id=f"{name}.{function.__name__}", marks=marks)


@cache
def reports(name, level):
    """The reports on all Functions of one module that promise one level, two at a time."""
    chosen = [f for f in functions_of(name) if level_of(name, f) == level and not lacks(f)]
    report = check([(f.__name__, f) for f in chosen], Settings(level=level, jobs=2))
    return {f: report.of(f.__name__) for f in chosen}


def level_of(name, function):
    return "compile" if name == "compiled" else getattr(function, "gradscope_level", "func")


@pytest.mark.parametrize(("name", "function"), [param(*case) for case in CASES])
def test_function_gets_the_expected_findings(name, function):
    findings = reports(name, level_of(name, function))[function]
    expected = expected_of(function)
    codes = {code for code, _ in expected}
    if name in RIGHT:
        assert not [f for f in findings if f.severity is Severity.ERROR]
        return
    also = ALSO_TOLD_HERE.get(f"{name}.{function.__name__}", set())
    told = [f for f in findings if f.code not in also and (f.severity is not Severity.INFO or f.code in codes)]
    assert {(f.code, f.site.line) for f in told} == expected, [(f.code, f.message) for f in findings]


def test_every_rule_has_a_faulty_function():
    expected = {code for _, function in CASES for code, _ in expected_of(function)}
    assert set(RULES) - expected == {"GS101", "GS199"}  # no class; nothing that is known


def test_every_rule_has_a_clean_function():
    named = {code for _, function in CASES for code in clean_of(function)}
    assert set(RULES) - named == {"GS101", "GS199"}


@pytest.mark.parametrize(("name", "function"), [param(*case) for case in CASES if clean_of(case[1])])
def test_a_clean_function_does_not_get_the_finding(name, function):
    findings = reports(name, level_of(name, function))[function]
    assert not [f for f in findings if f.code in clean_of(function) and f.severity is not Severity.INFO]


def test_there_are_a_dozen_realistic_functions_and_more():
    assert sum(name in RIGHT[1:] for name, _ in CASES) >= 24
