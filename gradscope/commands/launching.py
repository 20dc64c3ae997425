"""What the commands that run a program share: a script, `-m MODULE` or `-c CODE`, with its own arguments behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from gradscope.commands import options
from gradscope.errors import UsageError

if TYPE_CHECKING:
    from gradscope.launch.program import Program

BARE = ("--arm",)  # options whose value may be left out: what follows is never taken for it
SETTINGS = {**options.HELP, "ignore_unknown_options": True, "allow_interspersed_args": False}


class ProgramCommand(click.Command):
    """A command whose options end where Python's do: what follows `-m MODULE` or `-c CODE` is the program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, with a `--` after the program."""
        takes_value = self._takes_value()
        at = 0
        args = list(args)
        while at < len(args) and args[at].startswith("-") and args[at] != "--":
            if args[at].startswith(("-m", "-c")):
                at += 2 if len(args[at]) == 2 else 1
                args = [*args[:at], "--", *args[at:]]
                break
            if args[at] in BARE:
                args[at] += "="
            at += 2 if args[at] in takes_value else 1
        return super().parse_args(ctx, args)

    def _takes_value(self) -> set[str]:
        known = [one for one in self.params if isinstance(one, click.Option) and not one.is_flag]
        return {name for one in known for name in one.opts}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    """`-m`, `-c`, and the script with its arguments."""
    script = click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[SCRIPT] [ARGS]...")
    code = click.option("-c", "code", metavar="CODE", help="Run a piece of code, as python -c does.")
    module = click.option("-m", "module", metavar="MODULE", help="Run a module, as python -m does.")
    return module(code(script(function)))


def chosen(module: str | None, code: str | None, arguments: tuple[str, ...]) -> Program:
    """The program that was named. Raises UsageError when there is none, or two."""
    if module is not None and code is not None:
        raise UsageError("-m and -c do not go together", "give one of them, or a script")
    if module is None and code is None and not arguments:
        name = click.get_current_context().info_name
        raise UsageError(
            "there is nothing to run", f"gradscope {name} [OPTIONS] SCRIPT ARGS..., or -m MODULE, or -c CODE"
        )
    from gradscope.launch import program

    if module is not None:
        return program.module(module, arguments)
    if code is not None:
        return program.command(code, arguments)
    if arguments[0].startswith("-"):
        raise UsageError(f"there is no option {arguments[0]}", "--help lists them; the script's own follow its name")
    return program.script(arguments[0], arguments[1:])
