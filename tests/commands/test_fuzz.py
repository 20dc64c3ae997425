"""Whatever is in a recording, every reading command answers, or says in one sentence that it cannot."""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import resource
import sqlite3
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click
import pytest
import torch

import gradscope as library
from gradscope.cli import COMMANDS, gradscope, main
from gradscope.errors import Exit
from gradscope.model.operation import Block, Operation, Write
from gradscope.store.compiled_tables import write_captured, write_compiled_run
from gradscope.store.joint_tables import write_region
from gradscope.store.writer import Writer
from gradscope.view.heat import QUANTITIES
from tests import by_hand
from tests.commands.mutants import mutant
from tests.recordings import write
from tests.store.test_compiled_tables import CAPTURED, RUN
from tests.store.test_joint_tables import REGION

MUTANTS, AT_ONCE = 2000, 100
PAST = Path(__file__).parent.parent / "store" / "past"  # recordings of older versions
ANSWERS = {Exit.OK, Exit.FINDINGS, Exit.UNREADABLE, Exit.NOTHING_CHECKED}
ASKED = "0.weight"  # of the commands that take a name before the recording
NEED_A_PROGRAM = ("svg", "png", "pdf")
DRAWN = dict.fromkeys(QUANTITIES, ("--fmt", "dot"))  # colours that only drawings have
BUILT_IN = ("--engine", "builtin")  # but this draws without one
MOST_MEMORY = 1 << 30  # bytes that all of it may add
COLOR = re.compile(r"\x1b\[[\d;]*m")
RUNS_SOMETHING = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "pickle.find_class", "socket.connect")

ran: list[str] = []


def hear(event, _, watched=RUNS_SOMETHING, heard=ran.append):  # nothing takes it away, and it outlives the names here
    """Note what would run something."""
    if event in watched:
        heard(event)


sys.addaudithook(hear)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, name):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad, None


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Recordings to damage: one of a real run with a little of everything, and some written by hand."""
    folder = tmp_path_factory.mktemp("originals")
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    model[0].register_full_backward_hook(lambda *_: None)
    with contextlib.suppress(RuntimeError), library.record(folder / "real.gscope", detail="full"):
        for _ in range(2):
            x = torch.ones(2, 3, requires_grad=True)
            loss = Square.apply(model(x), "loss").sum()
            (slope,) = torch.autograd.grad(loss, x, create_graph=True)
            slope.register_hook(lambda grad: grad * 2)
            torch.func.vmap(torch.sin)(slope).sum().backward()
            with torch.no_grad():
                model[0].weight.sub_(0.1)
        loss.backward()
    stack = by_hand.line(3)
    block = Block(0, (Operation("aten.add_.Tensor", stack, None, None, (Write("self", 3, 0),)),), 0, None, 1.0)
    write(folder / "small.gscope", by_hand.small(), blocks=(block,), sources={"/project/train.py": "x\n" * 50})
    write(folder / "hostile.gscope", by_hand.hostile())
    compiled(folder / "compiled.gscope")
    for past in PAST.glob("*.sql"):
        with contextlib.closing(sqlite3.connect(folder / f"{past.stem}.gscope")) as database:
            database.executescript(past.read_text(encoding="utf-8"))
    return [path.read_bytes() for path in sorted(folder.glob("*.gscope"))]


def compiled(path: Path) -> None:
    """A recording of what compilers made."""
    writer = Writer(path)
    writer.set_run(asdict(by_hand.RUN))
    write_region(writer, REGION)
    write_captured(writer, CAPTURED)
    write_compiled_run(writer, RUN)
    writer.close({})


def variants() -> Iterator[list[str]]:
    """Every reading command, plain and with each choice of each of its options."""
    for name, entry in COMMANDS.items():
        if entry.reads:
            asked = [ASKED for one in command(name).params if isinstance(one, click.Argument) and one.required]
            yield [name, *asked]
            for option in command(name).params:
                if isinstance(option, click.Option) and isinstance(option.type, click.Choice):
                    chosen = (one for one in option.type.choices if one not in NEED_A_PROGRAM)
                    yield from ([name, option.opts[0], one, *DRAWN.get(one, ()), *asked] for one in chosen)
                    if "builtin" in option.type.choices:
                        yield [name, "--fmt", "svg", *BUILT_IN, *asked]


def command(name: str) -> click.Command:
    found = gradscope.get_command(click.Context(gradscope), name)
    assert found is not None
    return found


VARIANTS = list(variants())


def answers(arguments: list[str]) -> set[int]:
    """The statuses that a command may end with: a name that is not in the recording is the user's mistake."""
    return ANSWERS | ({Exit.USAGE} if ASKED in arguments else set())


def talk_of(arguments: list[str]) -> tuple[int, str, str]:
    """Run a command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as left:
        main(arguments)
    texts = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]  # type: ignore[attr-defined]
    return left.value.code, *texts


def check(number: int, arguments: list[str]) -> None:
    ran.clear()
    status, out, err = talk_of(arguments)
    what = f"mutant {number}, gradscope {' '.join(arguments)}: {status}\n{err[-3000:]}"
    assert status in answers(arguments), what
    assert "Traceback" not in err, what
    assert ran == [], what
    shown = COLOR.sub("", out) + err
    assert {one for one in shown if ord(one) < 32 or 127 <= ord(one) < 160} <= {"\n", "\t", "\r"}, what
    if status == Exit.UNREADABLE:
        first, *hint = err.splitlines()
        assert first.startswith("gradscope: "), what
        assert len(first) < 400, what
        assert [line for line in hint if not line.startswith(("  hint: ", "gradscope: "))] == [], what


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory without settings, in which commands may write; and no browser starts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    for name in [name for name in os.environ if name.startswith("GRADSCOPE_")]:
        monkeypatch.delenv(name)


def test_every_command_that_takes_a_recording_says_so() -> None:
    takes = {name for name in COMMANDS if any(one.name == "recording" for one in command(name).params)}
    assert takes == {name for name, entry in COMMANDS.items() if entry.reads}


@pytest.mark.parametrize("arguments", VARIANTS, ids=" ".join)
def test_the_originals_are_answered(arguments: list[str], originals: list[bytes], tmp_path: Path) -> None:
    for content in originals:
        (tmp_path / "mutant.gscope").write_bytes(content)
        status, _, err = talk_of([*arguments, "mutant.gscope"])
        assert status in answers(arguments) - {Exit.UNREADABLE}, err
        for written in tmp_path.glob("mutant.*"):
            written.unlink()


@pytest.mark.parametrize("first", range(0, MUTANTS, AT_ONCE))
def test_mutants_are_answered_or_refused(first: int, originals: list[bytes], tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(first, first + AT_ONCE):
        path = mutant(number, tmp_path, originals)
        check(number, [*random.Random(-number).choice(VARIANTS), path.name])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) * 1024 < MOST_MEMORY
