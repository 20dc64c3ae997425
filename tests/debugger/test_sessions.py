"""Sessions as a user has them, the commands piped in."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.capture.side_by_side import SideBySide, environment, python
from tests.terminal import CTRL_C, CTRL_D, Terminal
from tests.torch_versions import needs_saved_tensors

Session = Callable[..., str]
SCRIPT = """\
import os, signal, sys
import torch

torch.manual_seed(0)
x = torch.ones(2, 2, requires_grad=True)
w = torch.full((2, 2), 0.5, requires_grad=True)
for step in range(2):
    y = (x * w).tanh()
    if "nan" in sys.argv:
        y = y + torch.sqrt(x - 1) * 0
    if "interrupt" in sys.argv:
        y.register_hook(lambda gradient: os.kill(os.getpid(), signal.SIGINT))
    y.sum().backward()
print("gradient", x.grad.tolist())
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the script prints without gradscope."""
    return python(tmp_path_factory.mktemp("plain"), "-c", SCRIPT).stdout


@pytest.fixture
def session(side_by_side: SideBySide, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """What a session prints whose commands are piped in."""

    def run(*commands: str, options: tuple[str, ...] = (), arguments: tuple[str, ...] = ()) -> str:
        (tmp_path / "script.py").write_text(SCRIPT)
        typed = tmp_path_factory.mktemp("typed") / "commands"
        typed.write_text("".join(f"{line}\n" for line in commands))
        ran = side_by_side.gradscope(tmp_path, "debug", *options, "script.py", *arguments, stdin=typed)
        assert (ran.status, ran.stderr) == (0, "")
        assert list(tmp_path.iterdir()) == [tmp_path / "script.py"], "nothing is left behind"
        printed: str = ran.stdout
        return printed

    return run


def test_stops_before_the_first_node_and_goes_on_without_a_trace(plain: str, session: Session) -> None:
    printed = session("continue")
    assert "stopped before the next node, in backward 0\n-> 0 SumBackward0" in printed
    assert printed.endswith(plain)


def test_walks_node_by_node_in_the_engines_order(session: Session) -> None:
    printed = session("next", "n", "", "n", "c")
    stops = [line.split()[2] for line in printed.splitlines() if line.startswith("-> ")]
    assert stops == ["SumBackward0", "TanhBackward0", "MulBackward0", "AccumulateGrad", "AccumulateGrad"]


@needs_saved_tensors
def test_answers_questions(session: Session) -> None:
    printed = session(
        "where", "grads", "saved", "hooks", "order", "queue", "nonsense", "c", options=("-b", "MulBackward0")
    )
    assert "> script.py:8 <module>  y = (x * w).tanh()" in printed
    assert "float32[2, 2] cpu  norm 1.5729, max 0.786448, 0.0% zeros" in printed
    assert "self: float32[2, 2]" in printed
    assert "no hooks" in printed
    assert "-> #2 2 MulBackward0" in printed
    assert "nothing waits" in printed
    assert "there is no command nonsense" in printed


def test_set_changes_what_is_computed(plain: str, session: Session) -> None:
    printed = session("set 0 g * 0", "clear", "c", options=("-b", "TanhBackward0"))
    assert "100.0% zeros  (set)" in printed
    assert printed.splitlines()[-1] != plain.strip()


@pytest.mark.parametrize(
    ("command", "answer"),
    [("set 0 1", "no tensor of shape"), ("set 5 g", "position below 1"), ("set 0 g +", "SyntaxError")],
)
def test_a_wrong_set_changes_nothing(command: str, answer: str, plain: str, session: Session) -> None:
    printed = session(command, "c")
    assert answer in printed
    assert printed.endswith(plain)


def test_stops_at_the_first_gradient_that_is_not_finite(session: Session) -> None:
    printed = session("grads", "q", options=("-b", "nan"), arguments=("nan",))
    assert "stopped at a gradient that is not finite" in printed
    assert "SubBackward0" in printed
    assert "4 NaN" in printed


def test_until_runs_to_a_node_once(plain: str, session: Session) -> None:
    printed = session("until script.py:8", "c")
    assert [line.split()[2] for line in printed.splitlines() if line.startswith("-> ")][:2] == [
        "SumBackward0",
        "TanhBackward0",
    ]
    assert printed.endswith(plain)


def test_only_in_the_backward_that_was_named(session: Session) -> None:
    printed = session("c", "c", options=("-b", "TanhBackward0", "--backward", "1"))
    assert "in backward 1" in printed
    assert "in backward 0" not in printed


def test_the_end_of_input_quits(session: Session) -> None:
    assert "gradient" not in session()


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """A job in the background ignores Ctrl-C, and so do the programs that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_stops_before_the_next_node(session: Session) -> None:
    printed = session("q", options=("-b", "AccumulateGrad"), arguments=("interrupt",))
    assert "stopped by Ctrl-C, in backward 0\n-> 1 TanhBackward0" in printed


TERMINAL = """
import os, sys, torch
x = torch.ones(2, requires_grad=True)
for step in range(2):
    y = x.exp()
    print("forward", step, flush=True)
    while step and not os.path.exists("go"):
        pass
    y.sum().backward()
print("done", x.grad.tolist())
"""


PROMPT = "(gradscope) "
INTERRUPTED = "--KeyboardInterrupt--\n"
ON_A_TERMINAL = ("-m", "gradscope", "debug")


def test_at_a_terminal_ctrl_c_clears_the_line_and_ctrl_d_quits(tmp_path: Path) -> None:
    with Terminal(tmp_path, *ON_A_TERMINAL, "-c", TERMINAL) as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("where al")
        terminal.wait_for("where al")
        terminal.press(CTRL_C, f"{INTERRUPTED}{PROMPT}")
        printed, status = terminal.end(CTRL_D)
    again = printed.replace(INTERRUPTED, "").replace(PROMPT, "")  # from a Ctrl-C that was answered late
    assert (again.strip(), status) == ("", 0)


def test_ctrl_c_outside_a_backward_stops_in_the_next_one(tmp_path: Path) -> None:
    options = ("--break", "nan", "--backward", "0")
    with Terminal(tmp_path, *ON_A_TERMINAL, *options, "-c", TERMINAL) as terminal:
        terminal.wait_for("forward 1")
        terminal.type(CTRL_C)
        terminal.wait_for("Ctrl-C again interrupts the program")
        (tmp_path / "go").touch()
        assert "stopped by Ctrl-C, in backward 1\n-> 0 SumBackward0" in terminal.wait_for(PROMPT)
        terminal.type("c\n")
        printed, status = terminal.end()
    assert (printed.count("done [5.43"), status) == (1, 0)


def test_a_second_ctrl_c_is_the_programs(tmp_path: Path) -> None:
    with Terminal(tmp_path, *ON_A_TERMINAL, "--break", "nan", "-c", TERMINAL) as terminal:
        terminal.wait_for("forward 1")
        terminal.type(CTRL_C)
        terminal.wait_for("Ctrl-C again interrupts the program")
        terminal.type(CTRL_C)
        printed, status = terminal.end()
    assert "KeyboardInterrupt" in printed
    assert status == -signal.SIGINT


def test_a_breakpoint_that_no_node_was_at_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    options = ("-b", "ExpBackward0", "-b", "TanhBackward", "-b", "MulBackward")
    command = [sys.executable, "-m", "gradscope", "debug", *options, "script.py"]
    commands = "step\nstep\ncontinue\ncontinue\ncontinue\n"
    run = subprocess.run(
        command, cwd=tmp_path, env=environment(), input=commands, capture_output=True, text=True, check=False
    )
    assert run.stderr == "gradscope: the breakpoint ExpBackward0 was never reached\n"
