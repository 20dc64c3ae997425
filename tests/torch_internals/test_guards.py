"""What we do behind the guards is seen by nobody, ourselves included, and torch is left as it was."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.torch_internals import dispatch_key
from gradscope.torch_internals.guards import no_autograd, no_dispatch


def test_what_is_measured_is_not_heard() -> None:
    heard: list[str] = []

    def listener(name: str, keys: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        heard.append(name)
        return dispatch_key.pass_on(name, keys, arguments, keywords)

    x = torch.ones(2)
    before, was_on = dispatch_key.listening(), dispatch_key.is_on()
    dispatch_key.listen(listener)
    dispatch_key.switch(True)
    try:
        with no_dispatch(), no_autograd():
            x.sum()
        x.neg()
    finally:
        dispatch_key.switch(was_on)
        dispatch_key.listen(before)
    assert heard == ["aten::neg"]
