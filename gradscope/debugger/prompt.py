"""The prompt at a stop: commands as in pdb, on standard input, so that a script of commands can be piped in."""

from __future__ import annotations

import cmd
import sys
import traceback
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import torch

from gradscope.debugger.breakpoints import Breakpoint
from gradscope.debugger.stop import Go, Stop
from gradscope.debugger.tensors import words
from gradscope.engine.heap import Task, waiting
from gradscope.engine.order import queue_device, steps
from gradscope.model.graph import Node
from gradscope.model.printable import printable
from gradscope.model.site import Origin, Site

AROUND = 5  # nodes that `order` shows before and after
MOST_FRAMES = 12


class Prompt(cmd.Cmd):
    """Asks until the user wants to go on. `breakpoints` is shared with the watch."""

    prompt = "(gradscope) "
    doc_header = "Commands (type help COMMAND):"

    def __init__(self, breakpoints: list[Breakpoint], line_of: Callable[[Site], str]) -> None:
        super().__init__()
        self.breakpoints, self._line_of = breakpoints, line_of
        self.use_rawinput = sys.stdin.isatty()
        self.go: Go | None = None
        self.until: Breakpoint | None = None
        self._stop: Stop | None = None

    def ask(self, stop: Stop) -> Go | None:
        """Show the stop and take commands. None: the user quits."""
        self._stop, self.go, self.until = stop, None, None
        self._say(f"stopped {stop.why}, in backward {stop.graph.backward.number}")
        self.do_where("")
        interrupted = False
        try:
            while self.go is None:
                try:
                    if interrupted:
                        self._say("--KeyboardInterrupt--")
                    self.cmdloop()
                    break
                except KeyboardInterrupt:
                    interrupted = True
            return self.go
        finally:
            self._stop = None

    @property
    def stop(self) -> Stop:
        """The stop that is being talked about."""
        assert self._stop is not None
        return self._stop

    # going on

    def do_next(self, rest: str) -> bool:
        """next: run this node and stop before the next one of this backward."""
        return self._leave(Go.NEXT)

    def do_step(self, rest: str) -> bool:
        """step: as next, but stop in a backward that this node starts, too."""
        return self._leave(Go.STEP)

    def do_continue(self, rest: str) -> bool:
        """continue: run until a breakpoint."""
        return self._leave(Go.CONTINUE)

    def do_until(self, rest: str) -> bool:
        """until NAME|FILE:LINE|nan: run until such a node, or until a gradient that is not finite."""
        if not rest:
            self._say("until what? a node's name or id, FILE:LINE, or nan")
            return False
        self.until = Breakpoint(rest)
        return self._leave(Go.CONTINUE)

    def do_quit(self, rest: str) -> bool:
        """quit: end the program here."""
        return True

    def do_EOF(self, rest: str) -> bool:
        """End of input: quit."""
        self._say("")
        return True

    # asking

    def do_where(self, rest: str) -> None:
        """where [all]: the node, its place, and the forward stack that made it; all: with torch's own frames."""
        node = self.stop.node
        self._say(f"-> {_name(node)}  #{node.order}" + (f"  in {node.module.words}" if node.module else ""))
        shown = [site for site in node.stack if rest == "all" or site.origin is not Origin.TORCH]
        for site in shown[:MOST_FRAMES]:
            mark = ">" if site == node.site else " "
            self._say(f"  {mark} {PurePath(site.file).name}:{site.line} {site.function}  {self._line_of(site)}")
        if node.parent is not None:
            self._say(f"    made in the backward of {node.parent.name}, forward {node.parent.site}")

    def do_grads(self, rest: str) -> None:
        """grads: the gradients that the node will get: statistics, and the values of small ones."""
        for position, gradient in enumerate(self.stop.seen):
            first, *others = words(gradient)
            self._say(f"[{position}] {first}" + ("  (set)" if position in self.stop.replaced else ""))
            for line in others:
                self._say(line)

    def do_saved(self, rest: str) -> None:
        """saved: what the node keeps from its forward."""
        if not self.stop.node.saved:
            self._say("it keeps nothing")
        for tensor in self.stop.node.saved:
            leaf = f"  {tensor.leaf}" if tensor.leaf else ""
            self._say(f"{tensor.name}: {tensor.type}{leaf}")
            value: Any = getattr(self.stop.live, f"_raw_saved_{tensor.name}", None)
            for line in words(getattr(value, "data", None))[1:]:
                self._say(line)

    def do_hooks(self, rest: str) -> None:
        """hooks: the hooks on this node, and the lines that registered them."""
        if not self.stop.node.hooks:
            self._say("no hooks")
        for hook in self.stop.node.hooks:
            site = next((one for one in hook.stack), None)
            self._say(f"{hook.kind} {hook.name}" + (f"  {PurePath(site.file).name}:{site.line}" if site else ""))

    def do_order(self, rest: str) -> None:
        """order [all]: the nodes before and after this one in this backward."""
        ran = sorted(
            (node for node in self.stop.graph.nodes if node.order is not None), key=lambda node: node.order or 0
        )
        here = self.stop.node.order or 0
        near = ran if rest == "all" else ran[max(0, here - AROUND) : here + AROUND + 1]
        for node in near:
            mark = "->" if node.id == self.stop.node.id else "  "
            self._say(f"{mark} #{node.order} {_name(node)}")

    def do_queue(self, rest: str) -> None:
        """queue: the nodes that are ready and wait, in the order in which the engine will take them."""
        queue: list[Task] = []
        for step in steps(self.stop.graph, queue):
            if step.node == self.stop.node.id:
                break
        device = queue_device(self.stop.node.device)
        self._say(f"ready queue of {device}:" if queue else "nothing waits: what this node makes ready comes next")
        for task in waiting(queue):
            if task.node < len(self.stop.graph.nodes):
                self._say(f"   {_name(self.stop.graph.nodes[task.node])}")

    # changing

    def do_set(self, rest: str) -> None:
        """set POSITION EXPRESSION: give the node another gradient. `g` is the one at POSITION, `grads` all, `torch` is
        there: `set 0 g * 0`. The result must have the same shape. This changes what the script computes."""
        position, _, expression = rest.partition(" ")
        if not position.isdecimal() or int(position) >= len(self.stop.gradients) or not expression:
            self._say(f"set POSITION EXPRESSION, with a position below {len(self.stop.gradients)}")
            return
        number = int(position)
        names = {"g": self.stop.seen[number], "grads": self.stop.seen, "torch": torch}
        try:
            value = eval(expression, names)
        except Exception as error:
            self._say("".join(traceback.format_exception_only(error)).rstrip())
            return
        expected = self.stop.gradients[number]
        if not isinstance(value, torch.Tensor) or (expected is not None and value.shape != expected.shape):
            self._say(f"that is no tensor of shape {None if expected is None else list(expected.shape)}")
            return
        self.stop.replaced[number] = value
        self.do_grads("")

    def do_break(self, rest: str) -> None:
        """break [NAME|FILE:LINE|nan]: stop there, too; without a place, list where."""
        if rest:
            self.breakpoints.append(Breakpoint(rest))
        for number, each in enumerate(self.breakpoints):
            self._say(f"{number}: {each.text}")

    def do_clear(self, rest: str) -> None:
        """clear [NUMBER]: forget a breakpoint, or all."""
        if rest.isdecimal() and int(rest) < len(self.breakpoints):
            del self.breakpoints[int(rest)]
        elif not rest:
            self.breakpoints.clear()
        else:
            self._say("clear takes a breakpoint's number, as `break` lists them")

    do_n, do_s, do_c, do_q, do_w, do_b = do_next, do_step, do_continue, do_quit, do_where, do_break

    # cmd's own

    def emptyline(self) -> bool:
        """Enter repeats the last way of going on, as in pdb."""
        return bool(self.lastcmd) and bool(self.onecmd(self.lastcmd))

    def default(self, line: str) -> None:
        """What is no command."""
        self._say(f"there is no command {line.split(maxsplit=1)[0]}: help lists them")

    def get_names(self) -> list[str]:
        """The names that help lists: short forms are left out."""
        return [name for name in super().get_names() if name not in ("do_EOF", *(f"do_{key}" for key in "nscqwb"))]

    def _leave(self, go: Go) -> bool:
        self.go = go
        return True

    def _say(self, text: str) -> None:
        print(printable(text), flush=True)


def _name(node: Node) -> str:
    """`17 MmBackward0  weight  train.py:12`."""
    where = f"  {PurePath(node.site.file).name}:{node.site.line}" if node.site else ""
    return f"{node.id} {node.short_name}" + (f" {node.leaf}" if node.leaf else "") + where
