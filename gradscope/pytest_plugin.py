"""pytest: the fixture `check_function`, and `--gradscope` for every autograd.Function in the collected test modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradscope.model.report import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --gradscope and --gradscope-level."""
    group = parser.getgroup("gradscope")
    group.addoption(
        "--gradscope", action="store_true", help="check every autograd.Function that a test module defines or imports"
    )
    group.addoption(
        "--gradscope-level",
        default="declared",
        choices=("declared", "eager", "func", "compile"),
        help="what the Functions promise, or what each class itself declares",
    )


@pytest.fixture
def check_function(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """A check that fails the test with its findings."""

    def check(function: type, inputs: Any = None, **options: Any) -> Report:
        from gradscope.functions.check import check_function as run
        from gradscope.functions.declarations import declarations

        options.setdefault("level", request.config.getoption("--gradscope-level"))
        options.setdefault("declared", declarations())
        report = run(function, inputs, **options)
        fail_with(report)
        return report

    return check


def fail_with(report: Report) -> None:
    """Fail the running test when there is an error, skip it when nothing could be checked."""
    import click

    from gradscope.model.finding import Severity
    from gradscope.render.report_text import render

    if report.at_least(Severity.ERROR):
        pytest.fail(click.unstyle(render(report)), pytrace=False)
    if any(subject.inputs is None for subject in report.subjects):
        pytest.skip("; ".join(gap for subject in report.subjects for gap in subject.not_checked))


@pytest.hookimpl(hookwrapper=True)
def pytest_pycollect_makemodule(module_path: Any, parent: Any) -> Iterator[None]:
    """Let modules collect the checks of their Functions, too, under --gradscope."""
    outcome = yield
    module = outcome.get_result()  # type: ignore[attr-defined]
    if module is None or not parent.config.getoption("--gradscope"):
        return
    collect = module.collect
    module.collect = lambda: [*collect(), *function_items(module)]


def function_items(module: pytest.Module) -> list[FunctionItem]:
    """A check for each Function in the module's namespace."""
    from gradscope.functions.loading import is_function_class

    found = {value: name for name, value in vars(module.obj).items() if is_function_class(value)}
    own = [(value, name) for value, name in found.items() if not value.__module__.startswith("torch.")]
    return [FunctionItem.from_parent(module, name=f"gradscope[{name}]", function=value) for value, name in own]


class FunctionItem(pytest.Item):
    """The check of one Function as a test."""

    def __init__(self, *, function: type, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.function = function

    def runtest(self) -> None:
        """Check it."""
        from gradscope.functions.check import check_function as run
        from gradscope.functions.declarations import declarations

        level = self.config.getoption("--gradscope-level")
        fail_with(run(self.function, level=level, declared=declarations()))

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where it stands."""
        return self.path, None, self.name
