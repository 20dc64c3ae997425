"""What the text and the page of 100,000 nodes cost: CPU seconds of `gradscope graph`, Python's start included.

`python benchmarks/large.py` records one backward of each program and prints the least of several runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import torch
from measuring import machine
from reading import cost, nodes_of, run

MOST, MOST_OF_PAGE, MOST_MEMORY = 2.0, 15.0, 300.0  # seconds that a text and a page may take, MB that a page may

START = """
import random

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)
"""
SIZE = 100_000
CHAIN = """
out = torch.ones(2, requires_grad=True)
for _ in range({size}):
    out = out.sin()
out.sum().backward()
"""
RANDOM = """
values = [torch.ones(2, requires_grad=True) for _ in range(8)]
for _ in range({size}):
    one, other = random.choice(values[-20:]), random.choice(values[-20:])
    values.append(random.choice((torch.add, torch.sub, torch.maximum))(one, other))
torch.stack(values[-20:]).sum().backward()
"""
NET = """
model = nn.Sequential(*(layer for _ in range({size} // 5) for layer in (nn.Linear(2, 2), nn.Tanh())))
model(torch.ones(1, 2)).sum().backward()
"""
RECURRENT = """
cell = nn.LSTMCell(2, 2)
state = torch.zeros(1, 2), torch.zeros(1, 2)
for _ in range({size} // 15):
    state = cell(torch.ones(1, 2), state)
state[0].sum().backward()
"""
TRANSFORMER = """
layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
model = nn.TransformerEncoder(layer, {size} // 54)
model(torch.randn(1, 2, 4)).sum().backward()
"""
BLOCKS = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(4), nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))

model = nn.Sequential(*(Block() for _ in range({size} // 13)))
model(torch.ones(1, 4)).sum().backward()
"""
BRANCH = """
class Branch(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.wide = wide

    def forward(self, x):
        if self.wide:
            return self.first(x).tanh() * self.second(x).sigmoid()
        return x - self.first(x).relu()

model = nn.Sequential(*(Branch(random.random() < 0.5) for _ in range({size} // 8)))
model(torch.ones(1, 4)).sum().backward()
"""
PROGRAMS = {
    "a chain": CHAIN,
    "random operators": RANDOM,
    "a plain net": NET,
    "an LSTM cell through time": RECURRENT,
    "transformer layers": TRANSFORMER,
    "residual blocks": BLOCKS,
    "blocks of two kinds": BRANCH,
}


def record(folder: Path, program: str, size: int) -> Path:
    """Trace a program's one backward call, at `nodes`."""
    script, path = folder / "program.py", folder / "run.gscope"
    script.write_text(START + program.format(size=size))
    run("trace", "--quiet", "--force", "--no-explain", "--detail", "nodes", "-o", str(path), str(script))
    return path


def measured(path: Path, rounds: int) -> tuple[float, float, float]:
    """Seconds of the text and of the page, and MB of the page at its peak; the least of some rounds."""
    page = str(path.with_suffix(".html"))
    texts = [cost("graph", "-q", str(path))[0] for _ in range(rounds)]
    pages = [cost("graph", "-q", str(path), "--force", "-o", page) for _ in range(rounds)]
    return min(texts), min(seconds for seconds, _ in pages), min(memory for _, memory in pages)


def main() -> int:
    """Print the table. Returns 1 when a text or a page takes more than it may."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--size", type=int, default=SIZE, help="about how many nodes a graph has")
    asked, over = options.parse_args(), 0
    print(f"{machine()}\n\n| graph | nodes | text | page | page, peak of memory |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, program in PROGRAMS.items():
            path = record(Path(folder), program, asked.size)
            text, page, memory = measured(path, asked.rounds)
            over += text > MOST or page > MOST_OF_PAGE or memory > MOST_MEMORY
            print(f"| {name} | {nodes_of(path):,} | {text:.2f} s | {page:.1f} s | {memory:.0f} MB |", flush=True)
    bounds = f"{MOST} s, {MOST_OF_PAGE} s or {MOST_MEMORY:.0f} MB"
    print(f"\ntorch {torch.__version__}; {over} took more than {bounds}")
    return min(over, 1)


if __name__ == "__main__":
    sys.exit(main())
