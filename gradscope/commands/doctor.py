"""`gradscope doctor`: what of torch's private parts this installation has, and what works therefore."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import site
import sqlite3
import sys
from pathlib import Path

import click

from gradscope.commands import options, settings
from gradscope.errors import Exit, UsageError
from gradscope.model.capabilities import DETAILS
from gradscope.model.torch_part import Lack
from gradscope.render.doctor import to_json, to_text
from gradscope.version import __version__
from gradscope.view.health import Health, Seen

FORMATS = {"text": to_text, "json": to_json}
TESTED = "2.13 to 2.15"
STARTER = "gradscope_autostart.pth"


@click.command(context_settings=options.HELP)
@click.option("--fmt", type=click.Choice(list(FORMATS)), default="text", show_default=True, help="How to write it.")
def command(fmt: str) -> int:
    """Say what works with this installation of torch: records a small program and looks what of it was seen, then
    tries the parts of torch that gradscope stands on.

    Exits with 0 when all is well, 1 when something does not work, 4 when torch is not installed.
    """
    health = examine()
    options.deliver(FORMATS[fmt](health), None, quiet=True)
    if health.torch is None:
        return Exit.NOTHING_CHECKED
    return Exit.OK if health.well else Exit.FINDINGS


def examine() -> Health:
    """Look at everything."""
    versions = {
        "gradscope": __version__,
        "Python": f"{platform.python_version()} on {platform.platform()}",
        "SQLite": sqlite3.sqlite_version,
    }
    if importlib.util.find_spec("torch") is None:
        return Health(versions, None, _surroundings(), dict.fromkeys(DETAILS, ()), "", (), ())
    from gradscope.torch_internals.installed import require_torch

    require_torch()
    from gradscope.torch_internals import lacks
    from gradscope.torch_internals.parts import TABLE

    torch = f"{importlib.metadata.version('torch')} (gradscope is tested with {TESTED})"
    details: dict[str, tuple[Lack, ...]] = dict.fromkeys(DETAILS, ())
    refused = ""
    try:
        details = {detail: lacks.of_level(detail) for detail in DETAILS}
    except UsageError as error:
        refused = error.sentence
    seen = () if refused else rehearsed()
    return Health(versions, torch, _surroundings(), details, refused, seen, tuple(map(lacks.checked, TABLE)))


def rehearsed() -> tuple[Seen, ...]:
    """Record a small program that does one of each, and say what of it was seen."""
    from gradscope.rehearsal import rehearse

    return rehearse()


def _surroundings() -> dict[str, str]:
    dot = shutil.which("dot")
    folders = {*site.getsitepackages(), site.getusersitepackages(), *sys.path}
    starts = any((Path(folder) / STARTER).is_file() for folder in folders)
    variables = sorted(name for name in os.environ if name.startswith(settings.PREFIX))
    return {
        "Graphviz": dot or "dot is not installed: no svg, png and pdf of graphs",
        "GRADSCOPE_TRACE": "works" if starts else f"does not work: {STARTER} is not installed",
        "environment": ", ".join(f"{name}={os.environ[name]}" for name in variables) or "sets nothing",
    }
