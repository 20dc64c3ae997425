"""What `gradscope ranks` costs for 1,024 recordings: `python benchmarks/many_ranks.py` prints CPU time and memory.

They are copies of one rank's recording of a small GPT under DistributedDataParallel, each with its own rank; three of
them are tampered with: one collective is another, one ends early, one has another norm.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RANKS = 1024
PROGRAM = """
import sys
sys.path.insert(0, {benchmarks!r})
import torch
import torch.distributed as dist
from workloads import GPT
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
net = torch.nn.parallel.DistributedDataParallel(GPT(2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    tokens = torch.randint(0, 1000, (2, 64))
    optimizer.zero_grad()
    net(tokens).square().mean().backward()
    optimizer.step()
"""


def recorded(folder: Path) -> Path:
    """The recording that is copied."""
    script, path = folder / "train.py", folder / "one.gscope"
    script.write_text(PROGRAM.format(benchmarks=str(ROOT / "benchmarks")))
    command = [sys.executable, "-m", "gradscope", "trace", "-q", "-o", str(path), str(script)]
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return path


def copied(source: Path, folder: Path) -> None:
    """A recording of each rank."""
    folder.mkdir()
    for rank in range(RANKS):
        path = folder / f"train.r{rank:05d}-of-{RANKS:05d}.{rank + 1}.gscope"
        shutil.copyfile(source, path)
        with sqlite3.connect(path) as connection:
            values = {"rank": rank, "world_size": RANKS, "pid": rank + 1}
            if rank == 100:
                values["exception"] = "ValueError: bad sample"
            if rank == 200:
                connection.execute("UPDATE leaf_size SET weight = '1.5' WHERE backward = 4")
            for name, value in values.items():
                connection.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", (name, json.dumps(value)))
        connection.close()


def main() -> None:
    """Print what it costs for 128 and for all of them."""
    with tempfile.TemporaryDirectory() as place:
        source = recorded(Path(place))
        folder = Path(place) / "ranks"
        copied(source, folder)
        files = sorted(map(str, folder.glob("*.gscope")))
        for count in (128, RANKS):
            command = [sys.executable, "-m", "gradscope", "ranks", "--fmt", "json", *files[:count]]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
                assert process.stdout is not None
                found = [one["code"] for one in json.loads(process.stdout.read())["findings"]]
                _, _, used = os.wait4(process.pid, 0)
                process.returncode = 0
            size, seconds = source.stat().st_size / 1e6, used.ru_utime + used.ru_stime
            print(
                f"{count:,} recordings of {size:.1f} MB: {seconds:.2f} s of CPU, "
                f"{used.ru_maxrss / 1024:.0f} MB of memory, found {found}",
                flush=True,
            )


if __name__ == "__main__":
    main()
