"""Every Function of the corpus gets exactly the findings that its comments expect, on their lines."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from torch.autograd import Function

from gradscope.functions.check import Settings, check
from gradscope.model.finding import Severity

CORPUS = Path(__file__).parent / "corpus"
MODULES = sorted(path.stem for path in CORPUS.glob("*.py") if path.stem not in ("__init__", "base"))
EXPECT = re.compile(r"# expect: ([A-Z0-9? ]+?)(?: @(\w+))?$")


def functions_of(name):
    module = importlib.import_module(f"tests.functions.corpus.{name}")
    return [v for v in vars(module).values() if isinstance(v, type) and issubclass(v, Function) and v.__module__ == module.__name__]


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


CASES = [(name, function) for name in MODULES for function in functions_of(name)]


@pytest.mark.parametrize("function", [f for _, f in CASES], ids=[f"{n}.{f.__name__}" for n, f in CASES])
def test_function_gets_the_expected_findings(function):
    expected = expected_of(function)
    level = "compile" if function.__module__.endswith("compiled") else getattr(function, "gradscope_level", "func")
    report = check([(function.__qualname__, function)], Settings(level=level))
    if function.__module__.endswith("realistic"):
        assert not report.at_least(Severity.ERROR), report.findings
        return
    codes = {code.rstrip("?") for code, _ in expected}
    found = {(f.code, f.site.line) for f in report.findings if f.severity is not Severity.INFO or f.code in codes}
    assert found == {(code.rstrip("?"), line) for code, line in expected}, [(f.code, f.message) for f in report.findings]
