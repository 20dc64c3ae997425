"""Transforms read off a stack are those that torch has open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

import gradscope
from gradscope.graphs.transforms import transforms
from tests.probes.against import recording

X = torch.ones(4, 3)
Function = Callable[[torch.Tensor], torch.Tensor]

NESTED: dict[str, tuple[list[str], Callable[[Function], Any]]] = {
    "grad": (["grad"], lambda f: grad(f)(X)),
    "grad_and_value": (["grad_and_value"], lambda f: grad_and_value(f)(X)),
    "vjp": (["vjp"], lambda f: vjp(f, X)),
    "vmap": (["vmap"], lambda f: vmap(f)(X)),
    "chunked vmap": (["vmap"], lambda f: vmap(f, chunk_size=2)(X)),
    "jvp": (["jvp"], lambda f: jvp(f, (X,), (X,))),
    "jacrev": (["jacrev"], lambda f: jacrev(f)(X)),
    "jacfwd": (["jacfwd", "jacfwd"], lambda f: jacfwd(f)(X)),
    "hessian": (["jacfwd", "jacfwd", "jacrev"], lambda f: hessian(f)(X)),
    "functionalize": (["functionalize"], lambda f: functionalize(f)(X)),
    "vmap of grad": (["vmap", "grad"], lambda f: vmap(grad(f))(X)),
    "grad of vmap": (["grad", "vmap"], lambda f: grad(lambda x: vmap(f)(x).sum())(X)),
    "grad of grad": (["grad", "grad"], lambda f: grad(lambda x: grad(f)(x).sum())(X)),
    "vmap of hessian": (["vmap", "jacfwd", "jacfwd", "jacrev"], lambda f: vmap(hessian(f))(X)),
    "jvp of grad": (["jvp", "grad"], lambda f: jvp(grad(f), (X,), (X,))),
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # the first jvp of a process makes torch warn
@pytest.mark.parametrize("name", NESTED)
def test_the_stack_tells_the_open_transforms(name: str, tmp_path: Path) -> None:
    expected, run = NESTED[name]
    live: list[str] = []

    def f(x: torch.Tensor) -> torch.Tensor:
        live[:] = [level.key().name for level in torch._C._functorch.get_interpreter_stack() or []]
        return x.sin().sum()

    with recording(tmp_path) as path:
        run(f)
    with gradscope.load(path) as opened:
        sines = [one for block in opened.blocks() for one in block.operations if one.name == "aten.sin.default"]
    under = transforms(sines[0].stack)
    assert [one.name for one in under] == expected
    assert [one.kind for one in under] == live
    assert {one.site.file for one in under if one.site} == {__file__}


def test_outside_of_transforms_there_are_none(tmp_path: Path) -> None:
    with recording(tmp_path) as path:
        torch.ones(2, requires_grad=True).sum().backward()
    with gradscope.load(path) as opened:
        assert all(transforms(node.stack) == () for node in opened.graph().nodes)
