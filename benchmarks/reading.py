"""What the reading commands cost on large recordings: CPU seconds of the whole process, Python's start included.

`python benchmarks/reading.py` records backward calls of about 1,650 nodes and prints the least of several runs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import gradscope

ROOT = Path(__file__).resolve().parent.parent
MOST = 0.5  # seconds that a command may take
BYTE_CODE = Path(tempfile.gettempdir()) / "gradscope-benchmarks-bytecode"

STARTER = """
import resource, subprocess, sys

subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
MODEL = """
import torch
from torch import nn

torch.manual_seed(0)
LAYERS = {layers}
model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), LAYERS)
data = torch.randn(2, 4, 16)
"""
TRAINING = """
for layer in model.layers:
    layer.register_full_backward_hook(lambda module, inputs, outputs: None)
    layer.linear1.weight.register_hook(lambda gradient: gradient.clone())
    layer.linear2.weight.register_post_accumulate_grad_hook(lambda parameter: None)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(5):
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()
"""
TRANSFORMS = """
weights = dict(model.named_parameters())

def loss(weights, sample):
    return torch.func.functional_call(model, weights, (sample,)).square().mean()

torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, data)
values = [weight.detach().requires_grad_() for weight in weights.values()]
total = torch.func.vmap(lambda sample: loss(dict(zip(weights, values)), sample))(data).sum()
total.backward()
"""
COMPILED_AUTOGRAD = """
for step in range(3):
    model(data[: step + 1] if step else data).square().mean().backward()
"""
JOINT = """
@torch.compile(backend="aot_eager", dynamic=False)
def loss(data):
    return model(data).square().mean()

loss(data).backward()
"""
# A program, how many layers make it large enough, how it is traced, and the commands that read it.
PROGRAMS: dict[str, tuple[str, int, tuple[str, ...], tuple[str, ...]]] = {
    "training, `--detail ops`": (TRAINING, 29, (), ("replay", "replay --fmt json", "hooks", "memory", "graph", "info")),
    "training, `--detail full`": (
        TRAINING,
        29,
        ("--detail", "full"),
        (
            "replay",
            "replay --fmt json",
            "hooks",
            "hooks --all-nodes",
            *(f"times --by {place}" for place in ("line", "module", "node", "op")),
            "grads",
            "grads --by node",
            "memory",
            "memory --checkpointing",
        ),
    ),
    "`vmap`": (TRANSFORMS, 24, (), ("levels", "levels --nodes")),
    "`--compiled-autograd`": (COMPILED_AUTOGRAD, 29, ("--compiled-autograd",), ("compiled", "compiled --capture 0")),
    "`--joint`": (JOINT, 11, ("--joint",), ("joint", "joint --nodes")),
}


def record(folder: Path, program: str, layers: int, options: tuple[str, ...]) -> Path:
    """Trace a program."""
    script, path = folder / "program.py", folder / "run.gscope"
    script.write_text(MODEL.format(layers=layers) + program)
    command = ("trace", "--quiet", "--force", "--no-explain", "-o", str(path), *options, str(script))
    run(*command)
    return path


def run(*arguments: str) -> None:
    """Run gradscope."""
    cost(*arguments)


def cost(*arguments: str) -> tuple[float, float]:
    """User and system seconds of gradscope, and MB at its peak; its byte code is kept as an installed package's is.

    A small process starts it and asks: to Linux the peak of a process includes that of the one that started it.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment["PYTHONPYCACHEPREFIX"] = str(BYTE_CODE)
    command = [sys.executable, "-S", "-c", STARTER, sys.executable, "-m", "gradscope", *arguments]
    seconds, kilobytes = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout.split()
    return float(seconds), int(kilobytes) / 1000


def cpu_seconds(path: Path, command: str) -> float:
    """User and system time of one command."""
    name, *options = command.split()
    return cost(name, "-q", str(path), *options)[0]


def nodes_of(path: Path) -> int:
    """How many nodes there are to read: of the largest backward, or of the joint graphs."""
    with gradscope.load(path) as recording:
        sizes = [len(recording.graph(numbers[0]).nodes) for numbers in recording.by_graph()]
        return max([*sizes, *(len(region.nodes) for region in recording.regions())])


def main() -> int:
    """Print the table. Returns 1 when a command takes longer than it may."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    rounds, slow = options.parse_args().rounds, 0
    print("| recording | nodes | command | CPU |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (program, layers, tracing, commands) in PROGRAMS.items():
            path = record(Path(folder), program, layers, tracing)
            nodes = nodes_of(path)
            for command in commands:
                least = min(cpu_seconds(path, command) for _ in range(rounds))
                slow += least > MOST
                print(f"| {name} | {nodes:,} | `{command}` | {least:.2f} s |", flush=True)
    print(f"\ntorch {torch.__version__}; {slow} commands took more than {MOST} s")
    return min(slow, 1)


if __name__ == "__main__":
    sys.exit(main())
