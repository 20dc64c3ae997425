"""Runs a program plain and recorded without parts of torch: `python without.py FOLDER DETAIL`.

Each run is a fork of one process that has imported torch, so that a hundred of them take a minute. For each line that
it reads, a JSON list of a part's names, it prints one: status, stdout and stderr of both runs.
"""

import importlib
import json
import os
import runpy
import signal
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "program.py"
# What is imported once for all runs: what torch imports late, and of ours what binds no part of torch.
LATE = (
    "torch._dynamo",
    "torch._functorch.eager_transforms",
    "torch.distributed.distributed_c10d",
    "torch.utils.checkpoint",
    "gradscope.cli",
    "gradscope.commands.trace",
    "gradscope.store.reader",
    "gradscope.store.writer",
)


def take_away(name):
    """Delete a part; one of a class in C, which cannot be changed, is only not found any more."""
    owner, _, last = name.rpartition(".")
    found = importlib.import_module(owner.partition(".")[0])
    for part in owner.split(".")[1:]:
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(f"{found.__name__}.{part}")
    try:
        delattr(found, last)
    except (TypeError, AttributeError):
        from gradscope.torch_internals import find

        there = find.find
        find.find = lambda wanted: there("torch.gone") if wanted == name else there(wanted)


def start(names, out, act):
    """Fork, take the parts away, act."""
    child = os.fork()
    if child == 0:
        status = 99
        signal.alarm(8)  # torch without one of its parts may wait for ever
        try:
            for number, kind in ((1, "out"), (2, "err")):
                os.dup2(os.open(out / kind, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
            for name in names:
                take_away(name)
            status = act() or 0
        except SystemExit as ended:
            status = ended.code or 0
        except BaseException:
            import traceback

            traceback.print_exc()
            status = 1
        finally:
            import atexit

            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return child


def end(child, out):
    """Wait for it. Answers with status, stdout and stderr."""
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), (out / "out").read_text(), (out / "err").read_text()


def plain():
    sys.argv = [str(PROGRAM)]
    runpy.run_path(str(PROGRAM), run_name="__main__")


def recorded(out, detail):
    from gradscope.cli import main

    sys.argv = ["gradscope", "trace", "--no-explain", "-f", "--detail", detail, "-o", str(out / "x"), str(PROGRAM)]
    return main()


def both(names, out, detail):
    """The plain and the recorded run, side by side: without some parts both only wait until they are ended."""
    folders = [out / "plain", out / "recorded"]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    acts = plain, lambda: recorded(out, detail)
    children = [start(names, folder, act) for folder, act in zip(folders, acts, strict=True)]
    return [end(*one) for one in zip(children, folders, strict=True)]


if __name__ == "__main__":
    folder, detail = Path(sys.argv[1]), sys.argv[2]
    for late in LATE:
        importlib.import_module(late)
    for line in sys.stdin:
        print(json.dumps(both(json.loads(line), folder, detail)), flush=True)
