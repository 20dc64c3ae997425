"""The prompt outlives any number of Ctrl-C."""

from __future__ import annotations

import io

import pytest

from gradscope.debugger.prompt import Prompt
from gradscope.debugger.stop import Go, Stop
from tests import by_hand


def test_ctrl_c_again_while_the_first_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("c\n"))
    prompt = Prompt([], lambda site: "")
    prompt.stdin = io.StringIO("c\n")
    strikes = iter((True, True, False))
    say, loop = prompt._say, prompt.cmdloop

    def interrupted_say(text: str) -> None:
        if "KeyboardInterrupt" in text and next(strikes):
            raise KeyboardInterrupt
        say(text)

    def interrupted_loop() -> None:
        monkeypatch.setattr(prompt, "cmdloop", loop)
        raise KeyboardInterrupt

    monkeypatch.setattr(prompt, "_say", interrupted_say)
    monkeypatch.setattr(prompt, "cmdloop", interrupted_loop)
    graph = by_hand.small()
    assert prompt.ask(Stop(graph, graph.nodes[0], None, (), "here")) is Go.CONTINUE
