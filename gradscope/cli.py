"""The `gradscope` command: a table of subcommands, loaded when they are used, and the one place that catches errors."""

from __future__ import annotations

import difflib
import importlib
import signal
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from gradscope.commands import options, settings
from gradscope.errors import Exit, GradscopeError
from gradscope.model.printable import printable
from gradscope.version import __version__

ISSUES = "https://github.com/gradscope/gradscope/issues"


@dataclass(frozen=True, slots=True)
class Subcommand:
    """One subcommand: its module holds a click command named `command`. `help` is what `gradscope --help` prints.

    `reads` tells that it takes a RECORDING, which is untrusted: the tests throw damaged ones at it.
    """

    module: str
    help: str
    reads: bool = False


COMMANDS = {
    "trace": Subcommand("gradscope.commands.trace", "Run a script unchanged and record what autograd does."),
    "record": Subcommand("gradscope.commands.record", "Record the next steps of a program that runs already."),
    "watch": Subcommand("gradscope.commands.watch", "Watch a recording while it is being written."),
    "graph": Subcommand("gradscope.commands.graph", "Draw the graph of a recorded backward.", reads=True),
    "open": Subcommand("gradscope.commands.open", "Show a recorded backward as a page in the browser.", reads=True),
    "debug": Subcommand("gradscope.commands.debug", "Stop inside a backward and step through it, node by node."),
    "explain": Subcommand(
        "gradscope.commands.explain", "Say why a backward failed or went wrong, and which line to edit.", reads=True
    ),
    "who": Subcommand("gradscope.commands.who", "Say who wrote a tensor last, who saved it, who reads it.", reads=True),
    "why": Subcommand(
        "gradscope.commands.why", "Show the way from the loss to a parameter, or where it is cut.", reads=True
    ),
    "hooks": Subcommand("gradscope.commands.hooks", "Show the hooks of a backward in firing order.", reads=True),
    "times": Subcommand("gradscope.commands.times", "Say where the time of a backward went.", reads=True),
    "grads": Subcommand("gradscope.commands.grads", "Show how gradients flow.", reads=True),
    "steps": Subcommand("gradscope.commands.steps", "Show how a training goes, step by step.", reads=True),
    "diff": Subcommand("gradscope.commands.diff", "Say where two runs part: first operator, node, weight, line."),
    "ranks": Subcommand("gradscope.commands.ranks", "Say which rank of a distributed run is to blame."),
    "export": Subcommand("gradscope.commands.export", "Hand recordings over to Perfetto, or as Parquet."),
    "memory": Subcommand("gradscope.commands.memory", "Say what a graph keeps in memory for its backward.", reads=True),
    "levels": Subcommand("gradscope.commands.levels", "Show the torch.func transforms of a run.", reads=True),
    "joint": Subcommand(
        "gradscope.commands.joint", "Show what torch.compile makes of forward and backward.", reads=True
    ),
    "compiled": Subcommand(
        "gradscope.commands.compiled", "Show what compiled autograd captured, and why again.", reads=True
    ),
    "replay": Subcommand(
        "gradscope.commands.replay", "Walk a recorded backward as the engine ran it, or would run it.", reads=True
    ),
    "check-function": Subcommand("gradscope.commands.check_function", "Check custom autograd.Functions."),
    "rule": Subcommand("gradscope.commands.rule", "Print a rule's page."),
    "info": Subcommand("gradscope.commands.info", "Say what a recording holds.", reads=True),
    "doctor": Subcommand("gradscope.commands.doctor", "Say what works with this installation of torch."),
    "scrub": Subcommand(
        "gradscope.commands.scrub", "Copy a recording without sources, paths and arguments.", reads=True
    ),
}


class Subcommands(click.Group):
    """Subcommands from COMMANDS, imported on use: `gradscope --help` loads none of them, and reading loads no torch."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Load one."""
        entry = COMMANDS.get(name)
        if entry is None:
            return None
        command: click.Command = importlib.import_module(entry.module).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the one that is asked for, and what pyproject.toml and the environment set for it."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise _meant(error, args[0]) from None
        if name is not None and command is not None:
            ctx.default_map = {name: settings.defaults(name, command, lambda: self._all(ctx))}
        return name, command, rest

    def _all(self, ctx: click.Context) -> dict[str, click.Command]:
        loaded = {name: self.get_command(ctx, name) for name in COMMANDS}
        return {name: command for name, command in loaded.items() if command is not None}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(cls=Subcommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="gradscope")
def gradscope() -> None:
    """A microscope for PyTorch's autograd.

    Start with `gradscope trace train.py`, then `gradscope graph`.
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit status."""
    try:
        status = gradscope.main(args=arguments, prog_name="gradscope", standalone_mode=False)
        if status == -signal.SIGINT:
            sys.excepthook = _say_nothing  # said already; Python now dies by the signal, as it does for any program
            raise KeyboardInterrupt
        sys.exit(status if isinstance(status, int) else Exit.OK)
    except click.ClickException as error:
        error.show()
        sys.exit(Exit.USAGE)
    except click.Abort:
        sys.exit(130)
    except GradscopeError as error:
        options.complain(error)
        sys.exit(error.exit_status)
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away (`| head`): Python would complain at exit
        sys.exit(Exit.OK)
    except Exception:
        traceback.print_exc()
        click.echo(f"gradscope: this is a bug in gradscope {__version__}; please report it: {ISSUES}", err=True)
        sys.exit(Exit.INTERNAL)


def _meant(error: click.UsageError, name: str) -> click.UsageError:
    """What was probably meant by a command that there is not."""
    near = difflib.get_close_matches(name, COMMANDS, n=2)
    if Path(name).suffix in (".py", ".gscope"):
        near = [f"`gradscope {'trace' if name.endswith('.py') else 'graph'} {printable(name)}`"]
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return click.UsageError(error.message + meant, error.ctx)


def _say_nothing(*error: object) -> None:
    pass
