"""`gradscope check-function`: is this autograd.Function right, and does it compose?"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gradscope.commands import options as settings
from gradscope.commands import reporting
from gradscope.commands.options import check_output
from gradscope.errors import NothingCheckedError, UsageError
from gradscope.model.choice import Choice, codes
from gradscope.model.report import Report

if TYPE_CHECKING:
    from gradscope.functions.check import Settings


@click.command("check-function", context_settings=settings.HELP)
@click.argument("names", nargs=-1, required=True)
@click.option("--pattern", help="Of a module or file, only the Functions whose name matches, e.g. '*Norm'.")
@click.option("--inputs", metavar="MOD.FACTORY", help="A callable or data: one tuple of arguments or a list of them.")
@click.option(
    "--spec", help="Inputs in words: 'randn(3,4):grad, int=2, index(5,max=3), None'; several samples with ';'."
)
@click.option("--from-trace", metavar="RECORDING", help="Inputs of the kinds that `gradscope trace` recorded.")
@click.option(
    "--reference",
    metavar="MOD.FN",
    help="A differentiable function that computes the same; values are compared with it.",
)
@click.option(
    "--level",
    type=click.Choice(["declared", "eager", "func", "compile"]),
    default="declared",
    show_default=True,
    help="What the author promises, or what each class itself declares; limits above are notes.",
)
@click.option(
    "--custom-gradient",
    is_flag=True,
    help="The gradient differs from the formula's on purpose (straight-through, reversal).",
)
@reporting.select
@reporting.ignore
@click.option("--device", default="cpu", show_default=True, help="Where to run the trials.")
@reporting.fmt
@reporting.output
@reporting.force
@reporting.fail_on
@reporting.exit_zero
@click.option(
    "--jobs", type=click.IntRange(1), help="Functions checked at a time.  [default: 1; of a package all cores]"
)
@click.option("--timeout", type=click.FloatRange(min=0.1), help="Seconds for each trial.  [default: 20; 90 to compile]")
@click.option(
    "--limit",
    type=click.FloatRange(min=1),
    default=60.0,
    show_default=True,
    help="Seconds for all trials of a Function.",
)
@click.option(
    "--config", metavar="FILE", help="Where Functions are declared.  [default: gradscope.toml, pyproject.toml]"
)
@click.option("--init", is_flag=True, help="Write such a file from what is found, to OUTPUT or gradscope.toml.")
@click.option("-q", "--quiet", is_flag=True, help="No progress bar.")
def command(
    names: tuple[str, ...],
    output: str,
    fmt: str | None,
    force: bool,
    quiet: bool,
    init: bool,
    exit_zero: bool,
    fail_on: str,
    **options: Any,
) -> int:
    """Check custom autograd.Functions.

    NAMES are dotted names (pkg.mod.Name or pkg.mod:Name), or packages, modules, files and folders: all Functions in
    them.
    Exits with 0 when all is well, 1 for findings, 4 when a Function could not be checked.
    """
    from gradscope.torch_internals.installed import require_torch

    output = config_file(output) if init else output
    check_output(output, force)
    require_torch("check-function", *(["torch.compile"] if options["level"] == "compile" else []))
    from gradscope.functions.loading import make_working_directory_importable
    from gradscope.functions.packages import holds_modules

    make_working_directory_importable()
    packages = [name for name in names if holds_modules(name)]
    settings = settings_from(options | {"of_package": bool(packages)})
    others = tuple(name for name in names if name not in packages)
    reports = [checked_packages(packages, settings, options["pattern"], quiet)] if packages else []
    reports += [checked_targets(others, settings, options, quiet)] if others else []
    report = reduce(Report.joined, reports)
    if init:
        write_config(report, output, force)
        return 0
    reporting.write(report, fmt, output, force)
    return 0 if exit_zero else reporting.exit_status(report, fail_on)


def config_file(output: str) -> str:
    """Where --init writes: OUTPUT where it is given."""
    from gradscope.functions.declarations import OWN_FILE

    given = click.get_current_context().get_parameter_source("output") is not ParameterSource.DEFAULT
    return output if given else OWN_FILE


def write_config(report: Report, output: str, force: bool) -> None:
    """Write the configuration that says what was found."""
    from gradscope.render.function_config import render

    reporting.put(render(report), output, force)
    if output != "-":
        click.echo(f"gradscope: wrote {output}: {len(report.subjects)} Functions", err=True)


def checked_targets(names: tuple[str, ...], settings: Settings, options: dict[str, Any], quiet: bool) -> Report:
    """The report on classes, and on all Functions of modules and files."""
    from gradscope.functions.check import check
    from gradscope.functions.trials.table import TRIALS

    targets = targets_of(names, options["pattern"])
    if options["from_trace"]:
        settings = replace(settings, recorded=recorded_inputs(Path(options["from_trace"]), targets))
    with progress(len(targets) * (1 + len(TRIALS)), quiet) as note:  # finding inputs is a step, too
        return check(targets, settings, lambda function, trial: note(f"{function.rpartition('.')[2]}: {trial}"))


def checked_packages(packages: list[str], settings: Settings, pattern: str | None, quiet: bool) -> Report:
    """The report on all Functions of packages, each in a worker process."""
    from gradscope.functions.check import report_of
    from gradscope.functions.packages import modules_with_functions
    from gradscope.functions.workers import check_modules
    from gradscope.model.report import Unchecked, Unimported

    modules = [module for package in packages for module in modules_with_functions(package)]
    found: list[Any] = []
    with progress(sum(len(module.classes) for module in modules), quiet) as note:
        for result in check_modules(modules, settings, pattern):
            found.append(result)
            note(f"{so_far(found)}  {result[0].function if isinstance(result, tuple) else ''}")
    unimported = tuple(result for result in found if isinstance(result, Unimported))
    skipped = tuple(result for result in found if isinstance(result, Unchecked))
    results = sorted((result for result in found if isinstance(result, tuple)), key=lambda one: one[0].function)
    if not found:
        raise NothingCheckedError(
            f"{' and '.join(packages)} defines no autograd.Function" + (f" that matches {pattern!r}" if pattern else "")
        )
    return report_of(results, skipped, unimported)


def so_far(found: list[Any]) -> str:
    """What the results so far say: a package takes its time, and the first answer is worth having."""
    counts = Counter(finding.severity.value for result in found if isinstance(result, tuple) for finding in result[1])
    told = ((counts[kind], kind) for kind in ("error", "warning"))
    return ", ".join(f"{count} {kind}{'s' * (count > 1)}" for count, kind in told if count) or "ok so far"


def settings_from(options: dict[str, Any]) -> Settings:
    """The options as settings; inputs are made here, so that a wrong spec is said before anything runs."""
    from gradscope.functions.check import Settings
    from gradscope.functions.declarations import declarations
    from gradscope.functions.device import check_device
    from gradscope.functions.loading import resolve

    samples, source = chosen_inputs(options)
    choice = Choice(codes(options["select"]), codes(options["ignore"]))
    reference = resolve(options["reference"]) if options["reference"] else None
    if reference is not None and not callable(reference):
        raise UsageError(f"--reference {options['reference']} is not callable")
    check_device(options["device"])
    return Settings(
        options["level"],
        options["custom_gradient"],
        choice,
        reference,
        options["device"],
        samples,
        source,
        jobs=options["jobs"] or (os.cpu_count() or 1 if options["of_package"] else 1),
        timeout=options["timeout"],
        limit=options["limit"],
        declarations=declarations(Path(options["config"]) if options["config"] else None),
    )


def chosen_inputs(options: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    """The samples that an option gives, and their source."""
    from gradscope.functions.inputs.build import samples_from_data, samples_from_spec
    from gradscope.functions.loading import resolve
    from gradscope.model.report import Source

    given = [name for name in ("inputs", "spec", "from_trace") if options[name] is not None]
    if len(given) > 1:
        raise UsageError(
            f"--{given[0].replace('_', '-')} and --{given[1].replace('_', '-')} both give inputs", "use one of them"
        )
    if "(" in (options["inputs"] or "") or "," in (options["inputs"] or ""):
        raise UsageError("--inputs takes the name of a callable or of data", "inputs in words go to --spec")
    if options["inputs"] is not None:
        return tuple(samples_from_data(resolve(options["inputs"]), options["inputs"])), Source.GIVEN
    if options["spec"] is not None:
        return tuple(samples_from_spec(options["spec"])), Source.GIVEN
    return (), None


def recorded_inputs(path: Path, targets: list[tuple[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """The samples of each Function that the recording saw called; it must have seen one of them."""
    from gradscope.functions.inputs.recorded import samples_from_calls
    from gradscope.store.calls import NoCallError, read_calls

    found: dict[str, tuple[Any, ...]] = {}
    missing: NoCallError | None = None
    for name, _ in targets:
        try:
            found[name] = tuple(samples_from_calls(read_calls(path, name)))
        except NoCallError as error:
            missing = error
    if missing and not found:
        raise missing
    return found


def targets_of(names: tuple[str, ...], pattern: str | None) -> list[tuple[str, Any]]:
    """What the names stand for: a class, or every Function of a module or file."""
    from types import ModuleType

    from gradscope.functions.loading import functions_in, resolve

    targets: list[tuple[str, Any]] = []
    for name in names:
        found = resolve(name)
        if not isinstance(found, ModuleType):
            targets.append((dotted(name), found))
            continue
        functions = [(f"{found.__name__}.{function.__name__}", function) for function in functions_in(found, pattern)]
        if not functions:
            raise NothingCheckedError(
                f"{name} defines no autograd.Function" + (f" that matches {pattern!r}" if pattern else "")
            )
        targets += functions
    return targets


def dotted(name: str) -> str:
    """`pkg/mod.py:Name` and `pkg.mod:Name` as `pkg.mod.Name`, where pkg is a package."""
    from gradscope.functions.packages import root_and_name

    head, _, tail = name.partition(":")
    return f"{root_and_name(Path(head))[1]}.{tail}" if head.endswith(".py") else name.replace(":", ".")


@contextmanager
def progress(steps: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A progress bar on standard error, when that is a terminal; it is gone at the end."""
    if quiet or not sys.stderr.isatty():
        yield lambda words: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Column

    words = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), words)  # the words last: the bar then stands still
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=steps)
        yield lambda words: bar.update(task, advance=1, description=words)
