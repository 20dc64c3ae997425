"""A small training program, and random edits of it: each edit knows the lines that it changes in the edited text."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

ACTIVATIONS = ("torch.relu", "torch.tanh", "torch.sigmoid")


@dataclass(frozen=True)
class Edited:
    """An edit: its kind, the edited program, and the lines of it (or of the plain one) that may be named."""

    kind: str
    text: str
    lines: frozenset[int]


def plain(layers: int = 5) -> list[str]:
    """The lines of the program."""
    return [
        "import torch",
        "from torch import nn",
        "",
        "torch.manual_seed(0)",
        "",
        "",
        "class Net(nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        *(f"        self.l{number} = nn.Linear(6, 6)" for number in range(layers)),
        "",
        "    def forward(self, x):",
        *(f"        x = {ACTIVATIONS[number % 3]}(self.l{number}(x))" for number in range(layers)),
        "        for _ in range(2):",
        "            x = x + self.l0(x)",
        "        return x.square().mean()",
        "",
        "",
        "net = Net()",
        "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)",
        "for step in range(4):",
        "    optimizer.zero_grad()",
        "    net(torch.randn(3, 6)).backward()",
        "    optimizer.step()",
    ]


def _of(lines: list[str], beginning: str) -> list[int]:
    return [at for at, line in enumerate(lines) if line.strip().startswith(beginning)]


def insert_line(lines: list[str], chosen: random.Random) -> set[int]:
    """Another operator between two."""
    at = chosen.choice(_of(lines, "x = torch"))
    lines.insert(at, f"        x = x * {chosen.choice((2, 0.5))}")
    return {at}


def insert_layer(lines: list[str], chosen: random.Random) -> set[int]:
    """A layer more, built and called."""
    built = chosen.choice(_of(lines, "self.l"))
    lines.insert(built, "        self.more = nn.Linear(6, 6)")
    called = chosen.choice(_of(lines, "x = torch"))
    lines.insert(called, "        x = self.more(x)")
    return {built, called}


def take_out(lines: list[str], chosen: random.Random) -> set[int]:
    """A line less: the place is where it stood."""
    at = chosen.choice(_of(lines, "x = torch")[1:])
    del lines[at]
    return {at}


def branch(lines: list[str], chosen: random.Random) -> set[int]:
    """A line that runs only sometimes."""
    at = chosen.choice(_of(lines, "x = torch"))
    lines[at : at + 1] = ["        if x.sum() > 1e9:", f"    {lines[at]}"]
    return {at, at + 1}


def cast(lines: list[str], chosen: random.Random) -> set[int]:
    """Another dtype on the way."""
    at = chosen.choice(_of(lines, "x = torch"))
    lines[at] = lines[at].replace("(x))", "(x.to(torch.bfloat16).float()))")
    return {at}


def seed(lines: list[str], chosen: random.Random) -> set[int]:
    """Another seed."""
    (at,) = _of(lines, "torch.manual_seed")
    lines[at] = f"torch.manual_seed({chosen.randint(1, 99)})"
    return {at}


def order(lines: list[str], chosen: random.Random) -> set[int]:
    """Two lines the other way round."""
    at = chosen.choice(_of(lines, "x = torch")[:-1])
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return {at, at + 1}


def trip(lines: list[str], chosen: random.Random) -> set[int]:
    """A loop that goes round more or less often."""
    (at,) = _of(lines, "for _")
    lines[at] = f"        for _ in range({chosen.choice((1, 3, 4))}):"
    return {at}


def activation(lines: list[str], chosen: random.Random) -> set[int]:
    """Another operator in a line."""
    at = chosen.choice(_of(lines, "x = torch"))
    lines[at] = lines[at].replace(lines[at].split("(")[0].strip().removeprefix("x = "), "torch.sin")
    return {at}


def rate(lines: list[str], chosen: random.Random) -> set[int]:
    """Another learning rate."""
    (at,) = _of(lines, "optimizer = ")
    lines[at] = lines[at].replace("0.1", chosen.choice(("0.2", "0.01")))
    return {at}


def hook(lines: list[str], chosen: random.Random) -> set[int]:
    """A hook that changes a gradient."""
    (at,) = _of(lines, "optimizer = ")
    lines.insert(at, f"net.l{chosen.randrange(5)}.weight.register_hook(lambda gradient: gradient * 2)")
    return {at}


def width(lines: list[str], chosen: random.Random) -> set[int]:
    """Data of another shape."""
    (at,) = _of(lines, "net(torch.randn")
    lines[at] = lines[at].replace("3, 6", "5, 6")
    return {at}


def no_zero_grad(lines: list[str], chosen: random.Random) -> set[int]:
    """Gradients that are not cleared."""
    (at,) = _of(lines, "optimizer.zero_grad")
    del lines[at]
    return {at}


EDITS: tuple[Callable[[list[str], random.Random], set[int]], ...] = (
    *(insert_line, insert_layer, take_out, branch, cast, seed, order),
    *(trip, activation, rate, hook, width, no_zero_grad),
)


def edits(each: int, start: int = 0) -> Iterator[Edited]:
    """So many random edits of each kind."""
    for kind in EDITS:
        for number in range(each):
            lines = plain()
            changed = kind(lines, random.Random(f"{kind.__name__} {start + number}"))
            yield Edited(kind.__name__, "\n".join(lines) + "\n", frozenset(at + 1 for at in changed))


def moved(start: int) -> str:
    """The same program, with lines that do nothing put in."""
    chosen, lines = random.Random(start), plain()
    for _ in range(6):
        lines.insert(chosen.randrange(len(lines)), "" if chosen.random() < 0.5 else "# a remark")
    return "\n".join(lines) + "\n"
