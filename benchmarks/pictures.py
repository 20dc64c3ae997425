"""How fast graphs are drawn: `python benchmarks/pictures.py` prints it, in CPU seconds of the whole command."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from measuring import machine
from torch import nn
from workloads import gpt

import gradscope
from gradscope.render.layout.nested import lay_out
from gradscope.view.drawing import Arrow, Box, Drawing
from gradscope.view.style import Direction

ENGINES = ("dot", "builtin")
LAYERS = 22
INNER_STEPS = 3
ROUNDS = 3


def inner_loop() -> Callable[[], None]:
    """A step of MAML: three steps of SGD on a deep MLP with create_graph, then the backward through all of them."""
    torch.manual_seed(0)
    widths = [(16, 16)] * 36 + [(16, 1)]
    model = nn.Sequential(*(layer for shape in widths for layer in (nn.Linear(*shape), nn.Tanh())))
    names = [name for name, _ in model.named_parameters()]
    x, y = torch.randn(32, 16), torch.randn(32, 1)

    def step() -> None:
        values = list(model.parameters())
        for _ in range(INNER_STEPS):
            out = torch.func.functional_call(model, dict(zip(names, values, strict=True)), (x,))
            grads = torch.autograd.grad((out - y).square().mean(), values, create_graph=True)
            values = [value - 0.1 * grad for value, grad in zip(values, grads, strict=True)]
        out = torch.func.functional_call(model, dict(zip(names, values, strict=True)), (x,))
        (out - y).square().mean().backward()

    return step


def recorded(step: Callable[[], None], path: Path) -> int:
    """A recording of one step, and how many nodes its last backward has."""
    with gradscope.record(path):
        step()
    with gradscope.load(path) as recording:
        return len(recording.graph().nodes)


def command_seconds(*arguments: str) -> float:
    """CPU seconds of a gradscope command, the start of Python and `dot` included: the least of three."""
    least = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "gradscope", *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return least


def pictures(folder: Path) -> Iterator[tuple[str, ...]]:
    """Real graphs, reduced and drawn."""
    steps = {f"GPT of {LAYERS} layers": gpt(LAYERS)[2], f"MAML of {INNER_STEPS} inner steps": inner_loop()}
    for name, step in steps.items():
        path = folder / f"{len(name)}.gscope"
        nodes = recorded(step, path)
        for engine in ENGINES:
            output = folder / "graph.svg"
            taken = command_seconds("graph", str(path), "--force", "-o", str(output), "--engine", engine)
            boxes = output.read_text(encoding="utf-8").count('class="box"')
            yield name, f"{nodes:,}", f"{boxes:,}", engine, f"{taken:.2f} s"


def layouts() -> Iterator[tuple[str, ...]]:
    """The built-in layout by itself, on chains that nothing folds, with a skip every ten boxes."""
    for count in (1_000, 10_000, 100_000):
        arrows = [Arrow(number, number + 1) for number in range(count - 1)]
        arrows += [Arrow(number, number + 7) for number in range(0, count - 7, 10)]
        drawing = Drawing("", tuple(Box("", (), frozenset()) for _ in range(count)), tuple(arrows))
        started = time.process_time()
        lay_out(drawing, [(80.0, 30.0)] * count, [], Direction.DOWN)
        yield f"{count:,}", f"{len(arrows):,}", f"{time.process_time() - started:.2f} s"


def main() -> None:
    """Print the tables."""
    torch.set_num_threads(1)
    print(f"{machine()}\n")
    print("| graph | nodes | boxes | engine | `graph -o graph.svg` |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for row in pictures(Path(folder)):
            print("| " + " | ".join(row) + " |", flush=True)
    print("\n| boxes | arrows | built-in layout |\n|---|---|---|")
    for row in layouts():
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
